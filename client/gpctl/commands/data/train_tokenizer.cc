// gpctl data train-tokenizer.
#include <functional>
#include <memory>
#include <vector>

#include "base/file.h"
#include "base/machine/usable_cores.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/commands/data/data.h"
#include "client/gpctl/data/text_sources.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/progress_line.h"
#include "corpus/block_reader.h"
#include "corpus/document_splitter.h"
#include "formats/spelled_ends.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/hugging_face_tokenizer.h"
#include "tokenizer/training/byte_pair_trainer.h"

namespace gp::gpctl {
namespace {

constexpr int64_t kVocabularyMin = 257;    // the bytes and <|endoftext|>
constexpr int64_t kVocabularyMax = 65536;  // ids that shards hold in two bytes
constexpr char kTokenizerFile[] = "tokenizer.json";

struct TrainTokenizerOptions {
  TextSources text;
  std::string out;
  int64_t vocabulary = 0;
  int64_t count_min = BytePairTraining().count_min;
  int threads = CountUsableCores();
  bool force = false;
};

struct TrainedTokenizer {
  std::unique_ptr<BytePairTokenizer> tokenizer;
  int64_t text_bytes = 0;
  int64_t null_lines = 0;  // lines of JSON that were skipped
  int64_t pieces = 0;
  formats::SpelledEnds spelled_ends;
};

// Shows the progress. Returns false after Ctrl-C.
using TellProgress = std::function<bool(const std::string& line)>;

// Counts the pieces of a source's text. Blocks may cut a document anywhere, because the counter
// joins its parts.
Status ReadSource(const corpus::Source& source, const corpus::DocumentRules& rules,
                  const TellProgress& tell, PieceCounter& counter, TrainedTokenizer& result) {
  const auto cut = [](std::string_view, size_t begin) { return begin; };
  ASSIGN_OR_RETURN(auto reader, corpus::BlockReader::Open(source, rules, cut));
  const auto take = [&](const corpus::DocumentPart& part) {
    result.null_lines += part.null ? 1 : 0;
    counter.Add(part.text);
    if (rules.split_on != kEndOfText) {
      formats::CountSpelledEnds(part.text, kEndOfText, result.spelled_ends);
    }
    result.text_bytes += std::ssize(part.text);
    if (part.ends) counter.EndDocument();
    return OkStatus();
  };
  while (true) {
    ASSIGN_OR_RETURN(const auto block, reader.Next());
    if (!block.has_value()) return OkStatus();
    RETURN_IF_ERROR(corpus::SplitBlock(*block, source, rules, take));
    const bool go_on =
        tell(fmt::format("Reading {}: {} so far", BaseNameOf(corpus::SourceName(source)),
                         Bytes(static_cast<uint64_t>(result.text_bytes))));
    if (!go_on) return Cancelled("interrupted; nothing was written");
  }
}

StatusOr<TrainedTokenizer> Train(const TrainTokenizerOptions& options, const TellProgress& tell,
                                 const std::vector<corpus::Source>& sources) {
  TrainedTokenizer result;
  PieceCounter counter(options.threads);
  for (const corpus::Source& source : sources) {
    RETURN_IF_ERROR(ReadSource(source, options.text.documents, tell, counter, result));
  }
  ASSIGN_OR_RETURN(const std::vector<CountedPiece> pieces, counter.Take());
  if (pieces.empty()) {
    return InvalidArgument("{} no text; name files that contain text",
                           sources.size() == 1
                               ? corpus::SourceName(sources.front()) + " holds"
                               : CountedNoun(std::ssize(sources), "file") + " hold");
  }
  result.pieces = std::ssize(pieces);
  const auto tell_tokens = [&](int64_t tokens) {
    return tell(fmt::format("Learning: {} of {} tokens", WithThousands(tokens),
                            WithThousands(options.vocabulary)));
  };
  ASSIGN_OR_RETURN(BytePairVocabulary vocabulary,
                   TrainBytePairs(pieces, {.vocabulary = options.vocabulary,
                                           .count_min = options.count_min,
                                           .progress = tell_tokens}));
  result.tokenizer = std::make_unique<BytePairTokenizer>(std::move(vocabulary));
  return result;
}

// Writes tokenizer.json last, so that a directory with this file is complete.
Status WriteFiles(const Tokenizer& tokenizer, const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  auto files = HuggingFaceTokenizerFiles(tokenizer);
  const auto last = files.extract(kTokenizerFile);
  for (const auto& [name, text] : files) {
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, name), text));
  }
  return WriteFileAtomically(JoinPath(directory, kTokenizerFile), last.mapped());
}

std::string ReportJson(const TrainedTokenizer& trained, const std::string& directory,
                       double seconds) {
  Json document = Document("TrainedTokenizer");
  document["directory"] = directory;
  document["ids"] = trained.tokenizer->vocabulary_size();
  document["merges"] = trained.tokenizer->vocabulary().merges.size();
  document["text_bytes"] = trained.text_bytes;
  document["null_lines"] = trained.null_lines;
  document["words"] = trained.pieces;
  document["seconds"] = seconds;
  document["fingerprint"] = trained.tokenizer->Fingerprint();
  return Pretty(document);
}

std::string ReportText(const TrainedTokenizer& trained, const std::string& directory,
                       double seconds) {
  std::string text = fmt::format(
      "{} ids learned from {} of text with {} different words in {:.1f} s\n",
      WithThousands(trained.tokenizer->vocabulary_size()),
      Bytes(static_cast<uint64_t>(trained.text_bytes)), WithThousands(trained.pieces), seconds);
  if (trained.null_lines > 0) {
    text += CountedNoun(trained.null_lines, "null line") + " skipped\n";
  }
  return text + fmt::format("written: {}\n", JoinPath(directory, kTokenizerFile));
}

std::vector<std::string> SpelledEndWarnings(const TrainedTokenizer& trained) {
  std::vector<std::string> warnings;
  for (const formats::SpelledEnd& end : trained.spelled_ends) {
    warnings.push_back(
        fmt::format("the text contains {0} {1}, which was learned as ordinary text; "
                    "--split-on '{0}' ends documents there",
                    end.text, end.count == 1 ? "once" : fmt::format("{} times", end.count)));
  }
  return warnings;
}

StatusOr<ExitCode> TrainTokenizer(const TrainTokenizerOptions& options, Session& session) {
  Console& console = session.console();
  const std::string directory = AbsolutePath(options.out, console.working_directory);
  if (FileExists(JoinPath(directory, kTokenizerFile)) && !options.force) {
    return AlreadyExists("{} exists already; --force replaces it",
                         JoinPath(options.out, kTokenizerFile));
  }
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(const auto sources,
                   ExpandTextSources(options.text, console.working_directory, notes));
  console.Warn(notes);
  ProgressLine progress(console);
  const auto tell = [&](const std::string& line) {
    progress.Tell(line);
    return !console.interruption.requested();
  };
  const auto trained = Train(options, tell, sources);
  progress.Clear();
  RETURN_IF_ERROR(trained.status());
  console.Warn(SpelledEndWarnings(*trained));
  const double seconds = progress.Seconds();
  RETURN_IF_ERROR(WriteFiles(*trained->tokenizer, directory));
  const int64_t ids = trained->tokenizer->vocabulary_size();
  if (ids < options.vocabulary) {
    console.err << fmt::format(
        "note: {} ids instead of {}: no other pair of tokens occurs {} times in this text\n", ids,
        options.vocabulary, options.count_min);
  }
  console.PrintChange(session.json() ? ReportJson(*trained, directory, seconds)
                                     : ReportText(*trained, options.out, seconds));
  return ExitCode::kOk;
}

}  // namespace

void AddTrainTokenizerVerb(CommandSet& commands, Command data) {
  const Command command = commands.AddVerb(
      data, "train-tokenizer", "Learn a byte-level BPE from text, for gp and Hugging Face");
  auto options = std::make_shared<TrainTokenizerOptions>();
  AddTextSourceFlags(command, options->text);
  command
      .Option("--vocab-size", options->vocabulary,
              "size of the vocabulary: 256 bytes, learned tokens and <|endoftext|>")
      .Required()
      .Between(kVocabularyMin, kVocabularyMax);
  command.Option("--out", options->out, "directory for tokenizer.json and the files beside it")
      .Path()
      .Required();
  command.Option("--min-count", options->count_min, "merge a pair that occurs at least this often")
      .Between(int64_t{1}, int64_t{1} << 40)
      .ShowDefault();
  command.Option("--threads", options->threads, "(default: one for each core)").Between(1, 1024);
  command.Switch("--force", options->force, "replace an existing tokenizer");
  commands.Bind(command, [options](Session& session) { return TrainTokenizer(*options, session); });
}

}  // namespace gp::gpctl
