// gpctl compare.
#include <memory>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/models/evaluator_run.h"
#include "client/gpctl/commands/results/comparison.h"
#include "client/gpctl/session/served_checkpoint.h"

namespace gp::gpctl {
namespace {

constexpr size_t kComparedMax = 16;

struct CompareOptions {
  std::vector<std::string> runs;
  bool evaluate = false;
  std::vector<std::string> files;
};

struct MeasuredCheckpoint {
  ExitCode code = ExitCode::kOk;  // not kOk: gp-evaluator has printed its error
  std::string name;               // "base@300"
  std::vector<WindowLoss> windows;
};

StatusOr<std::vector<ComparedRun>> FetchRuns(const CompareOptions& options, Session& session) {
  ASSIGN_OR_RETURN(std::vector<NamedRun> named, FindRuns(options.runs, session));
  if (named.size() < 2 || named.size() > kComparedMax) {
    return InvalidArgument("expected 2 to {} different runs, found {}", kComparedMax, named.size());
  }
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  std::vector<ComparedRun> runs;
  for (NamedRun& one : named) {
    v1::CurvesRequest request;
    request.set_run(one.run.run_id());
    request.add_fields("loss");
    request.add_fields("val_loss");
    ASSIGN_OR_RETURN(std::vector<v1::CurvePoints> curves, client->Curves(request));
    runs.push_back({std::move(one), std::move(curves[0]), std::move(curves[1])});
  }
  return runs;
}

std::vector<WindowLoss> WindowsOf(const Json& result) {
  std::vector<WindowLoss> windows;
  if (!result.contains("windows")) return windows;
  for (const Json& window : result["windows"]) {
    // null stands for a loss that is not finite.
    windows.push_back({window[0].get<int64_t>(),
                       window[1].is_number() ? window[1].get<double>() : double{INFINITY}});
  }
  return windows;
}

StatusOr<MeasuredCheckpoint> Measure(const ComparedRun& run, const CompareOptions& options,
                                     Session& session) {
  ASSIGN_OR_RETURN(const ServedCheckpoint checkpoint, FindServed(run.named.run.run_id(), session));
  session.console().err << fmt::format("measuring {}\n", checkpoint.model) << std::flush;
  std::vector<std::string> arguments = {"--checkpoint", checkpoint.directory, "--windows"};
  for (const std::string& file : options.files) {
    arguments.insert(arguments.end(),
                     {"--file", AbsolutePath(file, session.console().working_directory)});
  }
  ASSIGN_OR_RETURN(const EvaluatorRun evaluated, RunEvaluator(arguments, session));
  MeasuredCheckpoint measured{.code = evaluated.code, .name = checkpoint.model};
  if (evaluated.result) measured.windows = WindowsOf(*evaluated.result);
  return measured;
}

StatusOr<ExitCode> Compare(const CompareOptions& options, Session& session) {
  ASSIGN_OR_RETURN(std::vector<ComparedRun> runs, FetchRuns(options, session));
  std::vector<PairedRuns> paired;
  if (options.evaluate || !options.files.empty()) {
    std::vector<MeasuredCheckpoint> measured;
    for (const ComparedRun& run : runs) {
      ASSIGN_OR_RETURN(MeasuredCheckpoint one, Measure(run, options, session));
      if (one.code != ExitCode::kOk) return one.code;
      measured.push_back(std::move(one));
    }
    for (size_t i = 1; i < measured.size(); ++i) {
      const auto difference = ComparePairs(measured[0].windows, measured[i].windows);
      RETURN_IF_ERROR(WithContext(difference.status(),
                                  fmt::format("{} and {}", measured[0].name, measured[i].name)));
      paired.push_back({measured[0].name, measured[i].name, *difference});
    }
  }
  ASSIGN_OR_RETURN(const Comparison comparison,
                   Comparison::Make(std::move(runs), std::move(paired)));
  session.console().out << (session.json()
                                ? Pretty(With("Comparison", comparison.Fields(session.Now())))
                                : comparison.Text(session.Now(), session.style()));
  return ExitCode::kOk;
}

}  // namespace

void AddCompareCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "compare", kRunGroup, "Compare runs: the keys that differ, losses, speed, at equal steps");
  auto options = std::make_shared<CompareOptions>();
  command
      .Option("RUN", options->runs,
              "two or more: names, ids, unique prefixes of ids, or @last; differences are relative "
              "to the first")
      .Required();
  command.Switch("--eval", options->evaluate,
                 "measure the newest checkpoints on the same validation text, for the standard "
                 "error of the difference");
  command
      .Option("--file", options->files,
              "measure them on this text or these token shards instead; may be repeated")
      .Path()
      .OneValueEach();
  commands.Bind(command, [options](Session& session) { return Compare(*options, session); });
}

}  // namespace gp::gpctl
