// gpctl data prepare.
#include <algorithm>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/file.h"
#include "base/machine/usable_cores.h"
#include "client/gpctl/commands/data/data.h"
#include "client/gpctl/data/data_tokenizer_choice.h"
#include "client/gpctl/data/text_sources.h"
#include "client/gpctl/render/dataset_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/progress_line.h"
#include "corpus/document_splitter.h"
#include "corpus/preparation.h"

namespace gp::gpctl {
namespace {

using corpus::PreparationProgress;
using formats::ShardFormat;

struct PrepareOptions {
  TextSources text;
  std::string out;
  std::string tokenizer = "gpt2";
  std::string format = "llmc";
  std::string split = "file";
  int threads = CountUsableCores();
  corpus::PreparationOptions preparation;
};

// A progress line: percent done, counts, rate and time left. `seconds`: since the command began.
std::string ProgressText(const PreparationProgress& progress, double seconds) {
  seconds = std::max(seconds, 1e-3);
  const auto done = static_cast<double>(progress.source_bytes - progress.source_bytes_begun);
  std::string line = fmt::format("{} documents, {} tokens, {}/s", WithThousands(progress.documents),
                                 CompactCount(static_cast<double>(progress.tokens)),
                                 Bytes(static_cast<uint64_t>(done / seconds)));
  if (progress.source_bytes_total == 0) return line;
  const auto total = static_cast<double>(progress.source_bytes_total);
  const auto left = static_cast<double>(progress.source_bytes_total - progress.source_bytes);
  line = Percent(static_cast<double>(progress.source_bytes) / total) + ", " + line;
  return done > 0 ? line + fmt::format(", {} left", DurationText(left * seconds / done)) : line;
}

ShardFormat FormatOf(const std::string& word) {
  if (word == "npy") return ShardFormat::kNpy;
  return word == "nanogpt" ? ShardFormat::kRaw : ShardFormat::kLlmC;
}

corpus::Split SplitOf(const std::string& word) {
  if (word == "line") return corpus::Split::kLine;
  return word == "blank-line" ? corpus::Split::kBlankLine : corpus::Split::kFile;
}

StatusOr<ExitCode> Prepare(const PrepareOptions& options, Session& session) {
  Console& console = session.console();
  corpus::PreparationOptions preparation = options.preparation;
  preparation.directory = AbsolutePath(options.out, console.working_directory);
  preparation.format = FormatOf(options.format);
  preparation.documents = options.text.documents;
  preparation.documents.split = SplitOf(options.split);
  preparation.threads = options.threads;
  preparation.created_by = "gp " GP_VERSION;
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(preparation.sources,
                   ExpandTextSources(options.text, console.working_directory, notes));
  ASSIGN_OR_RETURN(const auto tokenizer,
                   ChooseTokenizer(options.tokenizer, console.working_directory, &notes));
  console.Warn(notes);
  std::stop_source stop;
  const auto interrupted = console.interruption.OnRequest([&stop] { stop.request_stop(); });
  ProgressLine line(console);
  const auto dataset = corpus::PrepareDataset(
      *tokenizer, preparation,
      [&line](const PreparationProgress& progress) {
        line.Tell(ProgressText(progress, line.Seconds()));
      },
      stop.get_token());
  line.Clear();
  RETURN_IF_ERROR(dataset.status());
  console.Warn(DatasetWarnings(*dataset));
  const std::string unused_split =
      corpus::DescribeUnusedSplit(preparation.sources, preparation.documents,
                                  dataset->documents + dataset->empty_documents, "--split-on");
  if (!unused_split.empty()) console.Warn({unused_split});
  if (session.json()) {
    console.PrintChange(DatasetJson(*dataset, preparation.directory));
    return ExitCode::kOk;
  }
  console.PrintChange(
      DatasetText(*dataset, preparation.directory) +
      fmt::format("{} of text in {:.1f} s\n{}", Bytes(static_cast<uint64_t>(dataset->text_bytes)),
                  line.Seconds(),
                  RunFileLines(*dataset, preparation.directory, options.tokenizer)));
  return ExitCode::kOk;
}

void AddTextFlags(Command command, PrepareOptions& options) {
  AddTextSourceFlags(command, options.text);
  command.Option("--split", options.split, "how plain text is divided into documents")
      .OneOf({"file", "blank-line", "line"})
      .ShowDefault();
}

void AddShardFlags(Command command, PrepareOptions& options) {
  command.Option("--out", options.out, "new folder for the shards and dataset.json")
      .Path()
      .Required();
  command.Option("--tokenizer", options.tokenizer, "bytes, gpt2, or a tokenizer's file or folder")
      .Path()
      .ShowDefault();
  command
      .Option("--format", options.format, "layout: llm.c's .bin, build-nanogpt's .npy, nanoGPT's")
      .OneOf({"llmc", "npy", "nanogpt"})
      .ShowDefault();
  command
      .Option("--shard-tokens", options.preparation.shard_tokens, "tokens in a shard (llmc, npy)")
      .Positive()
      .ShowDefault();
  command
      .Option("--val-tokens", options.preparation.val_tokens,
              "tokens of the first shard, used for validation (llmc, npy; default: one per 40 "
              "bytes of SRC, about a tenth of plain text in GPT-2 tokens, but at most as many as "
              "in another shard)")
      .NonNegative();
  command
      .Option("--val-fraction", options.preparation.val_fraction,
              "share of the documents for val.bin (nanogpt; default: 0.0005)")
      .Between(0.0, 0.999);
  command.Option("--threads", options.threads, "(default: one for each core)").Between(1, 1024);
}

}  // namespace

void AddPrepareVerb(CommandSet& commands, Command data) {
  const Command command = commands.AddVerb(
      data, "prepare", "Make token shards from text; resumes after an interruption");
  auto options = std::make_shared<PrepareOptions>();
  AddTextFlags(command, *options);
  AddShardFlags(command, *options);
  commands.Bind(command, [options](Session& session) { return Prepare(*options, session); });
}

}  // namespace gp::gpctl
