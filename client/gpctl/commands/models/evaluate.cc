// gpctl eval.
#include <memory>
#include <optional>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/models/evaluator_run.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/served_checkpoint.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

struct EvalOptions {
  std::string reference;
  std::string task = "val";
  std::vector<std::string> files;
  std::string as;
  std::string style = "completion";
  std::string items;
  std::string precision = "auto";
};

std::vector<std::string> EvaluatorArguments(const std::string& checkpoint,
                                            const EvalOptions& options, const std::string& here) {
  std::vector<std::string> arguments = {"--checkpoint", checkpoint,       "--task",
                                        options.task,   "--style",        options.style,
                                        "--precision",  options.precision};
  for (const std::string& file : options.files) {
    arguments.insert(arguments.end(), {"--file", AbsolutePath(file, here)});
  }
  if (!options.as.empty()) arguments.insert(arguments.end(), {"--as", options.as});
  if (!options.items.empty()) {
    arguments.insert(arguments.end(), {"--items", AbsolutePath(options.items, here)});
  }
  return arguments;
}

std::string LossText(const Json& result) {
  const std::string bits = result["val_bpb"].is_number()
                               ? fmt::format("{:.4f} bits a byte", result["val_bpb"].get<double>())
                               : "unknown: the checkpoint's tokenizer has no text for some tokens";
  return fmt::format("val loss     {} nats per token   {} tokens\nval bpb      {}\n",
                     Loss(result["val_loss"].get<double>()),
                     WithThousands(result["tokens"].get<int64_t>()), bits);
}

std::string ChoicesText(const Json& result) {
  const auto items = result["items"].get<int64_t>();
  const auto line = [&](const char* name, const char* count) {
    return fmt::format("{:<13}{:.4f}   {} of {} right, {} style\n", name,
                       result[name].get<double>(), WithThousands(result[count].get<int64_t>()),
                       WithThousands(items), result["style"].get<std::string>());
  };
  return line("acc", "correct") + line("acc_norm", "correct_norm");
}

std::string ResultText(const Json& result) {
  const std::string head = fmt::format(
      "checkpoint   {}   step {}, computed in {}\n", result["checkpoint"].get<std::string>(),
      result["step"].get<int64_t>(), result["precision"].get<std::string>());
  return head + (result["task"] == "val" ? LossText(result) : ChoicesText(result));
}

Status Check(const EvalOptions& options) {
  if (options.task == "val") {
    if (options.items.empty()) return OkStatus();
    return InvalidArgument("--items needs --task hellaswag or choices: val asks no questions");
  }
  if (options.files.size() == 1) return OkStatus();
  return InvalidArgument("--task {} needs one --file: lines of JSON (gpctl help eval)",
                         options.task);
}

StatusOr<ExitCode> Evaluate(const EvalOptions& options, Session& session) {
  RETURN_IF_ERROR(Check(options));
  ASSIGN_OR_RETURN(const ServedCheckpoint checkpoint, FindServed(options.reference, session));
  Console& console = session.console();
  ASSIGN_OR_RETURN(
      const EvaluatorRun run,
      RunEvaluator(EvaluatorArguments(checkpoint.directory, options, console.working_directory),
                   session));
  if (run.code != ExitCode::kOk) return run.code;
  if (session.json()) {
    Json document = Document("Evaluation");
    document.update(*run.result);
    console.out << Pretty(document);
  } else {
    console.out << ResultText(*run.result);
  }
  return ExitCode::kOk;
}

}  // namespace

void AddEvalCommand(CommandSet& commands) {
  const Command command =
      commands.Add("eval", kModelGroup, "Measure a checkpoint: its loss, or answers to questions");
  auto options = std::make_shared<EvalOptions>();
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best, or a checkpoint's directory")
      .Required();
  command
      .Option("--task", options->task,
              "val: loss and bits per byte; hellaswag: HellaSwag's lines; choices: questions of "
              "your own (val)")
      .OneOf({"val", "hellaswag", "choices"});
  command
      .Option("--file", options->files,
              "val: text or token shards (the run's own validation split), may be repeated; else "
              "the file of questions")
      .Path()
      .OneValueEach();
  command.Option("--as", options->as, "val: how to read the files, instead of detecting it")
      .OneOf({"txt", "uint16"});
  command
      .Option("--style", options->style,
              "as llm.c asks questions, or as lm-evaluation-harness does (completion)")
      .OneOf({"completion", "harness"});
  command.Option("--items", options->items, "write the scores of each question to this file")
      .Path();
  command.Option("--precision", options->precision, "fp32, bf16, or auto: as in the run (auto)")
      .OneOf({"auto", "fp32", "bf16"});
  commands.Bind(command, [options](Session& session) { return Evaluate(*options, session); });
}

}  // namespace gp::gpctl
