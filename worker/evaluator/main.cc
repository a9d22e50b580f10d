// gp-evaluator: measures the model of a checkpoint: its loss on text, or its answers to
// multiple-choice questions. Prints lines of JSON: {"done", "of"} now and then, the result at last.
#include <signal.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/usable_cores.h"
#include "base/standard_output.h"
#include "formats/recorded_precision.h"
#include "worker/evaluator/evaluated_checkpoint.h"

namespace gp::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kProgressInterval(200);

struct Options {
  std::string checkpoint;
  std::string task = "val";
  std::vector<std::string> files;
  std::string as;
  std::string style = tasks::kStyleNames[0];
  std::string items;
  std::string precision = "auto";
  int threads = 0;
  bool windows = false;
};

void AddOptions(Command app, Options& options) {
  app.Version("gp-evaluator " GP_VERSION);
  app.Option("--checkpoint", options.checkpoint, "Checkpoint directory, or a run's directory")
      .Path()
      .Required();
  app.Option("--task", options.task, "val: the loss on text; the others: questions with endings")
      .OneOf({"val", "hellaswag", "choices"})
      .ShowDefault();
  app.Option("--file", options.files,
             "Text or token shards (val; none: the run's own validation split), or one file of "
             "questions")
      .Path()
      .OneValueEach();
  app.Option("--as", options.as, "How to read the files, instead of detecting it (val)")
      .OneOf({"txt", "uint16"});
  app.Option("--style", options.style, "How questions are asked")
      .OneOf(tasks::kStyleNames)
      .ShowDefault();
  app.Option("--items", options.items, "Write the scores of each question to this file").Path();
  app.Option("--precision", options.precision,
             "Precision: fp32, bf16, or auto: as in the checkpoint's run")
      .OneOf({"auto", "fp32", "bf16"})
      .ShowDefault();
  app.Switch("--windows", options.windows,
             "Also print \"windows\": tokens and nats of each batch of windows (val)");
  app.Option("--threads", options.threads, "0: every processor that may be used").NonNegative();
}

void Print(const Json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

EvaluationOptions EvaluationOptionsOf(const Options& options) {
  EvaluationOptions evaluation;
  evaluation.threads = options.threads > 0 ? options.threads : CountUsableCores();
  evaluation.precision = formats::ParseInferencePrecision(options.precision).value();
  evaluation.progress = [told = SystemClock().Now()](int64_t done, int64_t of) mutable {
    const MonotonicTime now = SystemClock().Now();
    if (now - told < kProgressInterval) return;
    told = now;
    Print({{"done", done}, {"of", of}});
  };
  return evaluation;
}

HeldOutFiles FilesOf(const Options& options) {
  HeldOutFiles files{.paths = options.files};
  if (options.as == "txt") files.format = runspec::DataFormat::kText;
  if (options.as == "uint16") files.format = runspec::DataFormat::kUint16;
  return files;
}

StatusOr<Json> Validate(const Options& options, EvaluatedCheckpoint& checkpoint) {
  ASSIGN_OR_RETURN(const Evaluation evaluation, checkpoint.Validate(FilesOf(options)));
  Json result = {{"val_loss", evaluation.loss}};
  const auto bits = evaluation.bits_per_byte();
  result["val_bpb"] = bits ? Json(*bits) : Json();
  result["tokens"] = evaluation.tokens;
  result["bytes"] = evaluation.bytes ? Json(*evaluation.bytes) : Json();
  if (options.windows) {
    result["windows"] = Json::array();
    for (const WindowLoss& window : evaluation.windows) {
      // JSON has no infinity: null.
      result["windows"].push_back(
          {window.tokens, std::isfinite(window.nats) ? Json(window.nats) : Json()});
    }
  }
  return result;
}

Status WriteItems(const std::string& path, const tasks::ChoiceResult& result) {
  std::string lines;
  for (const tasks::ItemResult& item : result.items) lines += tasks::FormatItem(item) + "\n";
  return WriteFileAtomically(path, lines);
}

StatusOr<Json> Choose(const Options& options, EvaluatedCheckpoint& checkpoint) {
  if (options.files.size() != 1) {
    return InvalidArgument("--task {} needs one --file: lines of JSON (docs/formats/choices.md)",
                           options.task);
  }
  const auto form =
      options.task == "hellaswag" ? tasks::ChoiceForm::kHellaSwag : tasks::ChoiceForm::kOwn;
  ASSIGN_OR_RETURN(const auto file, tasks::ReadChoiceFile(options.files[0], form));
  ASSIGN_OR_RETURN(const auto result, checkpoint.Choose(file, tasks::StyleOf(options.style)));
  if (!options.items.empty()) RETURN_IF_ERROR(WriteItems(options.items, result));
  return Json{{"style", options.style},
              {"acc", result.acc()},
              {"acc_norm", result.acc_norm()},
              {"correct", result.correct},
              {"correct_norm", result.correct_norm},
              {"items", result.items.size()}};
}

Status Run(const Options& options) {
  ASSIGN_OR_RETURN(auto checkpoint,
                   EvaluatedCheckpoint::Open(options.checkpoint, EvaluationOptionsOf(options)));
  const bool validates = options.task == "val";
  ASSIGN_OR_RETURN(const Json measured,
                   validates ? Validate(options, checkpoint) : Choose(options, checkpoint));
  Json result = {{"checkpoint", checkpoint.directory()},
                 {"step", checkpoint.manifest().step},
                 {"precision", formats::PrecisionText(checkpoint.precision())},
                 {"task", options.task}};
  result.update(measured);
  Print(result);
  return OkStatus();
}

// Exceptions of the engine become ordinary errors.
Status RunAtEdge(const Options& options) {
  try {
    return Run(options);
  } catch (const std::exception& error) {
    return Internal("{}", error.what());
  }
}

int Main(int argc, char** argv) {
  const CommandLine line("Measures the model of a checkpoint.");
  Options options;
  AddOptions(line.root(), options);
  if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
  const Status status = RunAtEdge(options);
  if (!status.ok()) std::fprintf(stderr, "gp-evaluator: %s\n", Message(status).c_str());
  return ProcessStatus(ExitCodeOf(status));
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  using namespace gp;
  InitLogging("gp-evaluator");
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit returns an error
  StandardOutput output;
  return output.Finish("gp-evaluator", engine::Main(argc, argv));
}
