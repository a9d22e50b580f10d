// gpctl export.
#include <memory>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "client/gpctl/session/model_copy.h"
#include "interop/checkpoint_model.h"
#include "interop/model_format.h"

namespace gp::gpctl {
namespace {

struct ExportOptions {
  std::string reference;
  std::string directory;
  std::string format;
  std::string type;
  bool allow_not_finite = false;
};

void PrintExported(const formats::CheckpointManifest& manifest, const ExportOptions& options,
                   const std::string& directory, Session& session) {
  const Console& console = session.console();
  if (session.json()) {
    Json document = Document("ExportedModel");
    document["run"] = manifest.run_name;
    document["step"] = manifest.step;
    document["format"] = options.format;
    document["directory"] = directory;
    console.PrintChange(Pretty(document));
    return;
  }
  console.PrintChange(
      fmt::format("exported     {} step {}, {} parameters, as {} in {}\n"
                  "directory    {}\n",
                  manifest.run_name, manifest.step, runspec::ParameterCount(manifest.shape),
                  options.format, options.type, directory));
}

StatusOr<ExitCode> Export(const ExportOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const std::string checkpoint,
                   FindCheckpointDirectory(options.reference, session));
  const std::string directory =
      AbsolutePath(options.directory, session.console().working_directory);
  ASSIGN_OR_RETURN(const auto opened, interop::OpenCheckpointModel(checkpoint));
  interop::CopyOptions copy = ModelCopy(options.allow_not_finite, session);
  if (options.type == "bf16") copy.type = interop::FloatType::kBf16;
  RETURN_IF_ERROR(
      interop::ExportModel(opened, *interop::ExportFormatOf(options.format), copy, directory));
  PrintExported(opened.manifest, options, directory, session);
  return ExitCode::kOk;
}

}  // namespace

void AddExportCommand(CommandSet& commands) {
  const Command command =
      commands.Add("export", kModelGroup, "Write a checkpoint's model for another program");
  auto options = std::make_shared<ExportOptions>();
  options->format = "hf";
  options->type = "f32";
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best, or a checkpoint's directory")
      .Required();
  command.Option("DIR", options->directory, "directory to create").Path().Required();
  command
      .Option("--format", options->format,
              "hf: Hugging Face; llmc: llm.c's model file; nanogpt: its state dict; gguf: "
              "llama.cpp (hf)")
      .OneOf({"hf", "llmc", "nanogpt", "gguf"});
  command.Option("--dtype", options->type, "f32 or bf16 (f32)").OneOf({"f32", "bf16"});
  command.Switch("--allow-nonfinite", options->allow_not_finite,
                 "export even if weights are NaN or infinite");
  commands.Bind(command, [options](Session& session) { return Export(*options, session); });
}

}  // namespace gp::gpctl
