// gpctl sweep: submit, status, watch, cancel, best, plot, list.
#include <memory>

#include "base/file.h"
#include "client/api/sweep_ranking.h"
#include "client/api/sweep_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/submit.h"
#include "client/gpctl/commands/sweep/sweep_charts.h"
#include "client/gpctl/commands/sweep/sweep_json.h"
#include "client/gpctl/commands/sweep/sweep_text.h"
#include "client/gpctl/plot/svg_chart.h"
#include "client/gpctl/plot/terminal_chart.h"
#include "client/gpctl/terminal/hint.h"
#include "client/gpctl/terminal/live_block.h"
#include "runspec/sweep/sweep_file.h"

namespace gp::gpctl {
namespace {

using client::HasEnded;
using client::StateName;

constexpr std::chrono::seconds kWatchInterval{1};
constexpr ChartSize kPipedChart{80, 20};
constexpr int kChartRowsMost = 24;

struct SubmitSweepOptions {
  std::string file;
  std::string name;
  std::string request_id;
  std::vector<std::string> overrides;
};

struct PlotSweepOptions {
  std::string sweep;
  std::string file;
};

StatusOr<RunFileText> ReadSweepText(const std::string& path, Console& console) {
  if (!IsOpenFile(path)) {
    const auto text = ReadFile(AbsolutePath(path, console.working_directory));
    if (!text.ok()) return InvalidArgument("{}; expected a sweep file", Message(text.status()));
  }
  return ReadRunFile(path, console);
}

// The run file that the sweep varies, with the directory in which its relative paths start.
StatusOr<RunFileText> RunFileOf(const runspec::SweepFile& sweep, const RunFileText& file,
                                Console& console) {
  if (sweep.run_path.empty()) return RunFileText{sweep.run_text, file.name, file.directory};
  ASSIGN_OR_RETURN(RunFileText run,
                   ReadRunFile(AbsolutePath(sweep.run_path, file.directory), console));
  run.name = sweep.run_path;
  return run;
}

// Checks what only this machine can check, and returns the overrides with absolute paths. A run
// file that needs the varied keys has problems here; the coordinator reports those that remain.
StatusOr<std::vector<std::string>> CheckRun(const RunFileText& run,
                                            const SubmitSweepOptions& options, Session& session,
                                            const std::string& address) {
  const auto result = CheckRunFile(run, {options.overrides, {}}, session);
  if (!result.spec) return options.overrides;
  RETURN_IF_ERROR(CheckInputs(address, run, options.overrides, *result.spec, session.console()));
  return AbsoluteOverrides(options.overrides, *result.spec);
}

StatusOr<ExitCode> Submit(const SubmitSweepOptions& options, Session& session) {
  Console& console = session.console();
  ASSIGN_OR_RETURN(const RunFileText file, ReadSweepText(options.file, console));
  const auto sweep = runspec::ReadSweepFile(file.text, file.name);
  if (!sweep.file) return InvalidArgument("{}", RenderProblems(sweep.problems));
  ASSIGN_OR_RETURN(const RunFileText run, RunFileOf(*sweep.file, file, console));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const auto overrides, CheckRun(run, options, session, client->address()));
  v1::SubmitSweepRequest request;
  request.set_request_id(options.request_id);
  request.set_source(file.text);
  request.set_source_name(file.name);
  if (!sweep.file->run_path.empty()) request.set_run_source(run.text);
  request.set_run_source_name(run.name);
  request.set_base_directory(BaseDirectoryFor(client->address(), run));
  request.set_name(options.name);
  request.set_namespace_(session.NamespaceOfRuns());
  for (const std::string& text : overrides) request.add_overrides(text);
  ASSIGN_OR_RETURN(const v1::SubmitSweepResponse response, client->SubmitSweep(request));
  console.Warn({response.warnings().begin(), response.warnings().end()});
  Json document = With("Sweep", SweepFields(response.sweep()));
  document["replayed"] = response.replayed();
  const std::string reference = ReferenceOf(response.sweep());
  console.PrintChange(session.json()
                          ? Pretty(document)
                          : fmt::format("{} sweep {}: {} trials, {} at a time\n",
                                        response.replayed() ? "Submitted before:" : "Submitted",
                                        reference, response.sweep().trial_count(),
                                        response.sweep().max_parallel()));
  if (!session.json()) {
    console.err << fmt::format("Watch it: {}\n", session.Hint("sweep watch " + reference));
  }
  return ExitCode::kOk;
}

StatusOr<v1::Sweep> FindSweep(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  return client->GetSweep(session.WithNamespace(reference));
}

StatusOr<ExitCode> ShowStatus(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(reference, session));
  session.console().out << (session.json() ? Pretty(With("Sweep", SweepFields(sweep)))
                                           : SweepDetails(sweep, session.style()));
  return ExitCode::kOk;
}

ExitCode EndCodeOf(v1::SweepState state) {
  if (state == v1::SWEEP_STATE_FAILED) return ExitCode::kRunFailed;
  return state == v1::SWEEP_STATE_CANCELLED ? ExitCode::kRunCancelled : ExitCode::kOk;
}

// The first lines, so that the block fits on the terminal.
std::string Cut(const std::string& text, int rows) {
  size_t end = 0;
  for (int row = 0; row < rows && end < text.size(); ++row) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

// On a terminal a table that is redrawn; elsewhere a line whenever a trial ends.
StatusOr<ExitCode> Watch(const std::string& reference, Session& session) {
  Console& console = session.console();
  LiveBlock block(console.out);
  int ended = -1;
  while (true) {
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(reference, session));
    const bool last = HasEnded(sweep.state());
    const bool changed = last || sweep.ended_trials() != ended;
    ended = sweep.ended_trials();
    if (session.json()) {
      if (changed) console.out << OneLine(With("Sweep", SweepFields(sweep))) << std::flush;
    } else if (console.Animated()) {
      const std::string text = SweepDetails(sweep, session.style());
      block.Draw(last ? text : Cut(text, console.Size().rows - 1));
    } else if (last) {
      console.out << SweepDetails(sweep, session.style());
    } else if (changed) {
      console.out << fmt::format("{}: {} of {} trials have ended\n", ReferenceOf(sweep), ended,
                                 sweep.trial_count())
                  << std::flush;
    }
    if (last) return EndCodeOf(sweep.state());
    if (console.interruption.WaitFor(kWatchInterval)) {
      console.err << fmt::format("The sweep continues. Watch it again: {}\n",
                                 session.Hint("sweep watch " + reference));
      return ExitCode::kInterrupted;
    }
  }
}

StatusOr<ExitCode> Cancel(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Sweep sweep, client->CancelSweep(session.WithNamespace(reference)));
  session.console().PrintChange(session.json()
                                    ? Pretty(With("Sweep", SweepFields(sweep)))
                                    : fmt::format("{} is {}: {}\n", ReferenceOf(sweep),
                                                  StateName(sweep.state()), sweep.reason()));
  return ExitCode::kOk;
}

StatusOr<ExitCode> ShowBest(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(reference, session));
  const v1::SweepTrial* best = client::BestTrial(client::RankCandidates(sweep));
  if (best == nullptr) {
    return FailedPrecondition("no trial of '{}' has a validation loss yet: {}", ReferenceOf(sweep),
                              sweep.reason());
  }
  if (session.json()) {
    session.console().out << Pretty(With("SweepTrial", TrialFields(*best)));
    return ExitCode::kOk;
  }
  session.console().out << BestText(sweep, session.style());
  const std::string checkpoint = best->run_name() + "@best";
  // The best checkpoint is often the last one, after which the trial's own budget leaves no steps.
  const std::string more = fmt::format("fork {} --steps +{}", checkpoint, best->target_steps());
  session.console().err << NextText({session.Hint("sample " + checkpoint), session.Hint(more)});
  return ExitCode::kOk;
}

// "loss.svg", or "loss-optimizer.lr.svg" when the sweep varies several keys.
std::string PictureName(const std::string& file, const std::string& key, size_t charts) {
  if (charts == 1) return file;
  return fmt::format("{}-{}.svg", file.substr(0, file.size() - 4), key);
}

StatusOr<ExitCode> WritePictures(const PlotSweepOptions& options, const v1::Sweep& sweep,
                                 const std::vector<KeyChart>& charts, Console& console) {
  for (const auto& [key, chart] : charts) {
    const std::string name = PictureName(options.file, key, charts.size());
    const bool has_means = !chart.curves.front().label.empty();
    const SvgPicture picture{
        .title = ReferenceOf(sweep),
        .subtitle = std::string("a dot for each trial: its lowest validation loss") +
                    (has_means ? "; a line through the means" : ""),
        .panels = {chart},
        .notes = {}};
    RETURN_IF_ERROR(WriteFileAtomically(AbsolutePath(name, console.working_directory),
                                        SvgText(picture, kLightTheme)));
    console.PrintChange(fmt::format("wrote {}\n", name));
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> Plot(const PlotSweepOptions& options, Session& session) {
  if (!options.file.empty() && !options.file.ends_with(".svg")) {
    return InvalidArgument("-o {}: expected a file name that ends in .svg", options.file);
  }
  ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(options.sweep, session));
  const std::vector<KeyChart> charts = ChartsOf(sweep);
  if (charts.empty()) {
    return FailedPrecondition("no trial of '{}' has a validation loss yet: {}", ReferenceOf(sweep),
                              sweep.reason());
  }
  Console& console = session.console();
  if (!options.file.empty()) return WritePictures(options, sweep, charts, console);
  ChartSize size = kPipedChart;
  if (console.out_is_terminal) {
    size = {console.Size().columns, std::min(console.Size().rows - 1, kChartRowsMost)};
  }
  for (const auto& [key, chart] : charts) {
    const ChartStyle style{.utf8 = session.utf8(), .color = console.Animated()};
    for (const std::string& line : DrawChart(chart, size, style)) console.out << line << "\n";
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> List(Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  const std::string wanted = session.Namespace();
  ASSIGN_OR_RETURN(const auto response, client->ListSweeps(wanted == "*" ? "" : wanted));
  if (session.json()) {
    Json document = Document("SweepList");
    document["items"] = Json::array();
    for (const v1::Sweep& sweep : response.sweeps()) {
      document["items"].push_back(SweepFields(sweep));
    }
    session.console().out << Pretty(document);
    return ExitCode::kOk;
  }
  if (response.sweeps().empty()) {
    session.console().err << "No sweeps. Submit one: " << session.Hint("sweep submit FILE") << "\n";
    return ExitCode::kOk;
  }
  session.console().out << SweepTable({response.sweeps().begin(), response.sweeps().end()},
                                      session.style());
  return ExitCode::kOk;
}

void AddSubmitVerb(Command noun, CommandSet& commands) {
  const Command command = commands.AddVerb(noun, "submit", "Start a sweep from a sweep file");
  auto options = std::make_shared<SubmitSweepOptions>();
  command.Option("FILE", options->file, "sweep file, or - for standard input").Path().Required();
  command.Option("--set", options->overrides, "path=value of the run file; may be repeated")
      .OneValueEach();
  command.Option("--name", options->name, "name of the sweep (default: the file's)").NotEmpty();
  command.Option("--request-id", options->request_id,
                 "a repeated submit with the same id gives the same sweep");
  commands.Bind(command, [options](Session& session) { return Submit(*options, session); });
}

void AddNamedVerb(Command noun, CommandSet& commands, const std::string& name,
                  const std::string& summary,
                  StatusOr<ExitCode> (*action)(const std::string&, Session&)) {
  const Command command = commands.AddVerb(noun, name, summary);
  auto sweep = std::make_shared<std::string>();
  command.Option("SWEEP", *sweep, "name of the sweep").Required();
  commands.Bind(command, [sweep, action](Session& session) { return action(*sweep, session); });
}

void AddPlotVerb(Command noun, CommandSet& commands) {
  const Command command =
      commands.AddWriterVerb(noun, "plot", "Draw the validation loss against each varied key");
  auto options = std::make_shared<PlotSweepOptions>();
  command.Option("SWEEP", options->sweep, "name of the sweep").Required();
  command
      .Option("-o,--output", options->file,
              "file to write, NAME.svg; several varied keys: NAME-KEY.svg for each")
      .Path();
  commands.Bind(command, [options](Session& session) { return Plot(*options, session); });
}

}  // namespace

void AddSweepCommands(CommandSet& commands) {
  const Command sweep =
      commands.Add("sweep", kRunGroup, "Train many variants of a run file and rank them");
  AddSubmitVerb(sweep, commands);
  AddNamedVerb(sweep, commands, "status", "Show the trials, ranked by their validation loss",
               ShowStatus);
  AddNamedVerb(sweep, commands, "watch",
               "Follow the sweep to its end; exit code 7 if it failed, 8 if it was cancelled",
               Watch);
  AddNamedVerb(sweep, commands, "cancel", "Submit no more trials, and cancel those that run",
               Cancel);
  AddNamedVerb(sweep, commands, "best", "Print the best trial and how to use its model", ShowBest);
  AddPlotVerb(sweep, commands);
  const Command list = commands.AddVerb(sweep, "list", "List sweeps, the newest first");
  commands.Bind(list, [](Session& session) { return List(session); });
}

}  // namespace gp::gpctl
