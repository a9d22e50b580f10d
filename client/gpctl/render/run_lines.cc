#include "client/gpctl/render/run_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "client/api/run_client.h"
#include "client/api/run_state_name.h"
#include "client/api/time_left.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/sparkline.h"

namespace gp::gpctl {
namespace {

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string Nodes(const v1::Run& run) {
  if (run.placement().empty()) return "";
  std::set<std::string> names;
  for (const v1::RankPlacement& rank : run.placement()) names.insert(rank.node_name());
  std::string text =
      fmt::format("{} rank{} on", run.placement_size(), run.placement_size() == 1 ? "" : "s");
  for (const std::string& name : names) text += " " + name;
  return text;
}

}  // namespace

double RunFraction(const RunModel& model, double now) {
  const v1::Progress& progress = model.run().progress();
  if (model.run().state() == v1::RUN_STATE_SUCCEEDED) return 1;
  if (progress.target_steps() > 0) {
    return static_cast<double>(progress.step()) / static_cast<double>(progress.target_steps());
  }
  if (model.time_budget_seconds() <= 0 || !model.run().has_started_at()) return 0;
  return std::min(1.0, ElapsedSeconds(model.run(), now) / model.time_budget_seconds());
}

ScreenLine RunHeading(const v1::Run& run, double now, int width, bool utf8) {
  const std::string state = Upper(client::StateName(run.state()));
  const int widest_name = std::min(width / 2, width - DisplayWidth(state) - 4);
  const std::string name = CutMiddleToWidth(run.name(), widest_name, utf8);
  std::vector<LinePart> parts = {
      {DurationText(ElapsedSeconds(run, now))}, {run.run_id(), 2}, {Nodes(run), 1}};
  if (run.failures() > 0) parts.push_back({fmt::format("attempt {}", run.failures() + 1)});
  const int room = width - DisplayWidth(name) - DisplayWidth(state) - 4;
  ScreenLine line;
  line.Add(name + "  ").Add(state, StateColor(run)).Add("  ");
  return line.Add(CutToWidth(FittedLine(std::move(parts), "   ", room), room, utf8));
}

std::string RunReasonLine(const v1::Run& run, bool utf8) {
  return run.state() == v1::RUN_STATE_RUNNING ? "" : "  " + OneSafeLine(run.reason(), utf8);
}

std::string RunEta(const RunModel& model, double now) {
  const v1::Run& run = model.run();
  if (client::IsTerminal(run.state())) return "";
  double seconds = client::SecondsLeft(run.progress());
  if (seconds < 0 && model.time_budget_seconds() > 0 && run.has_started_at()) {
    seconds = std::max(0.0, model.time_budget_seconds() - ElapsedSeconds(run, now));
  }
  return seconds < 0 ? "" : "ETA " + DurationText(seconds);
}

std::string RunBarLine(const RunModel& model, double now, int width, int bar_max, bool utf8) {
  const v1::Progress& progress = model.run().progress();
  const double fraction = RunFraction(model, now);
  const double tokens = static_cast<double>(progress.tokens());
  const std::string text = FittedLine({{Percent(fraction)},
                                       {"step " + StepOfTarget(progress), 1},
                                       {CompactCount(tokens) + " tokens", 2},
                                       {RunEta(model, now)}},
                                      "   ", width - kRunBarMin - 2);
  const int bar = std::max(kRunBarMin, std::min(width - DisplayWidth(text) - 2, bar_max));
  return ProgressBar(fraction, bar, utf8) + "  " + text;
}

std::string RunScoresLine(const RunModel& model, bool utf8) {
  std::string text;
  for (const auto& [name, score] : model.scores()) {
    text += fmt::format("{}{} {:.4f} @{}", text.empty() ? "  scores      " : "   ",
                        OneSafeLine(name, utf8), score.value(), WithThousands(score.step()));
  }
  return text;
}

std::string RunSpeedLine(const v1::Progress& progress, int width) {
  if (progress.step() == 0) return "";
  return FittedLine(
      {{fmt::format("  throughput  {} tok/s", CompactCount(progress.tokens_per_second()))},
       {"step " + StepTimeText(progress.step_seconds())},
       {MfuText(progress.mfu(), progress.peak_flops(), progress.peak_source()), 1}},
      "   ", width);
}

std::string RunPhaseLine(const v1::Progress& progress, int width) {
  if (!progress.has_phases() || progress.step_seconds() <= 0) return "";
  const std::string title = "  phases      ";
  return title + PhaseText(progress.phases(), progress.step_seconds(), width - DisplayWidth(title));
}

std::string RunWarningLine(const v1::Run& run, bool utf8) {
  return IsWarned(run) ? "! " + OneSafeLine(run.progress().warning(), utf8) : "";
}

std::string RunCheckpointLine(const v1::Run& run) {
  if (run.latest_checkpoint_step() < 0) return "";
  std::string text =
      fmt::format("  checkpoint  step {}", WithThousands(run.latest_checkpoint_step()));
  if (run.best_checkpoint_step() >= 0)
    text += fmt::format(", best at step {}", WithThousands(run.best_checkpoint_step()));
  return text;
}

std::string RunEventLine(const v1::RunEvent& event, bool utf8) {
  return fmt::format("  {}  {}", ClockText(event.at().seconds()),
                     OneSafeLine(event.reason(), utf8));
}

}  // namespace gp::gpctl
