// gpctl import.
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "base/text/shell_word.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/data/data_tokenizer_choice.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/model_copy.h"
#include "client/gpctl/terminal/hint.h"
#include "client/gpctl/terminal/number_text.h"
#include "interop/checkpoint_model.h"
#include "interop/model_format.h"
#include "interop/model_tokenizer.h"

namespace gp::gpctl {
namespace {

using interop::ModelFormat;
using interop::ModelSource;

struct ImportOptions {
  std::string source;
  std::string format;
  std::string name;
  std::string directory;
  std::string tokenizer;
  bool allow_not_finite = false;
};

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerOf(const ModelSource& source,
                                                       const std::string& named,
                                                       const std::string& here,
                                                       std::vector<std::string>& notes) {
  std::shared_ptr<const Tokenizer> tokenizer;
  if (named.empty()) {
    ASSIGN_OR_RETURN(tokenizer, interop::TokenizerFor(source, notes));
  } else {
    ASSIGN_OR_RETURN(auto other, ChooseTokenizer(named, here));
    ASSIGN_OR_RETURN(tokenizer, interop::TokenizerFor(source, std::move(other), notes));
  }
  if (tokenizer->vocabulary_size() <= source.shape().vocabulary) return tokenizer;
  const auto first = static_cast<int32_t>(source.shape().vocabulary);
  return InvalidArgument(
      "the tokenizer has {} ids, the model of {} only {}: remove token '{}' and all later ones "
      "from the "
      "tokenizer's files, or name another tokenizer with --tokenizer",
      tokenizer->vocabulary_size(), source.path(), source.shape().vocabulary,
      Excerpt(tokenizer->Decode({&first, 1})));
}

StatusOr<ModelFormat> FormatOf(const ImportOptions& options, const std::string& path) {
  if (options.format == "auto") return interop::DetectModelFormat(path);
  return *interop::ModelFormatOf(options.format);
}

// A line about the prefix that was removed from the tensors' names; empty if there was none.
std::string NamesText(const ModelSource& source) {
  const std::string wrappers = source.wrappers();
  if (wrappers.empty()) return "";
  return fmt::format("names        without '{}', the prefix that a wrapper added to all of them\n",
                     wrappers);
}

void PrintImported(const ModelSource& source, ModelFormat format, const ImportOptions& options,
                   const std::string& directory, Session& session) {
  const runspec::ModelShape& shape = source.shape();
  const Console& console = session.console();
  if (session.json()) {
    Json document = Document("ImportedModel");
    document["name"] = options.name;
    document["checkpoint"] = directory;
    document["format"] = interop::ModelFormatName(format);
    document["parameters"] = runspec::ParameterCount(shape);
    if (!source.wrappers().empty()) document["removed_prefix"] = source.wrappers();
    console.PrintChange(Pretty(document));
    return;
  }
  console.PrintChange(
      fmt::format("imported     {}   {} parameters, {} blocks, {} channels, context {}, {} ids\n",
                  options.name, WithThousands(runspec::ParameterCount(shape)), shape.layers,
                  WithThousands(shape.channels), WithThousands(shape.context),
                  WithThousands(shape.vocabulary)) +
      NamesText(source) + fmt::format("checkpoint   {}\n", directory) +
      NextText({fmt::format("{} sample {} --prompt 'The '", ProgramWord(console),
                            ShellWord(directory))}));
}

StatusOr<ExitCode> Import(const ImportOptions& options, Session& session) {
  const std::string& here = session.console().working_directory;
  const std::string path = AbsolutePath(options.source, here);
  const std::string directory =
      AbsolutePath(options.directory.empty() ? options.name : options.directory, here);
  ASSIGN_OR_RETURN(const ModelFormat format, FormatOf(options, path));
  ASSIGN_OR_RETURN(const auto source, interop::OpenModel(path, format));
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(const auto tokenizer, TokenizerOf(*source, options.tokenizer, here, notes));
  RETURN_IF_ERROR(interop::WriteCheckpointModel(*source, *tokenizer, options.name, directory,
                                                ModelCopy(options.allow_not_finite, session)));
  session.console().Warn(notes);
  PrintImported(*source, format, options, directory, session);
  return ExitCode::kOk;
}

}  // namespace

void AddImportCommand(CommandSet& commands) {
  const Command command =
      commands.Add("import", kModelGroup, "Import another program's model as a checkpoint");
  auto options = std::make_shared<ImportOptions>();
  options->format = "auto";
  command
      .Option("MODEL", options->source,
              "a Hugging Face GPT-2 directory, a model file of llm.c, or a directory whose tensors "
              "have nanoGPT's names")
      .Path()
      .Required();
  command.Option("--name", options->name, "name of the checkpoint").Required();
  command.Option("--to", options->directory, "directory to create (./NAME)").Path();
  command.Option("--format", options->format, "hf, llmc, nanogpt, or auto: detected (auto)")
      .OneOf({"auto", "hf", "llmc", "nanogpt"});
  command
      .Option("--tokenizer", options->tokenizer,
              "bytes, gpt2, or a file or directory of one (the model's own)")
      .Path();
  command.Switch("--allow-nonfinite", options->allow_not_finite, "accept NaN and infinite weights");
  commands.Bind(command, [options](Session& session) { return Import(*options, session); });
}

}  // namespace gp::gpctl
