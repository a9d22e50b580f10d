#include "client/gpctl/render/run_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

constexpr int kUsualWidth = 80;
constexpr int kBarCellsMin = 12;
constexpr int kSparkCellsMax = 24;

// The width of a sparkline: the space that the numbers leave, within limits.
int SparkCells(int width) { return std::clamp(width - 52, 8, kSparkCellsMax); }

// The part of the run that is done, 0 to 1: by steps, or by time for a run that is bounded by time.
double Fraction(const RunModel& model, double now) {
  const v1::Progress& progress = model.run().progress();
  if (model.run().state() == v1::RUN_STATE_SUCCEEDED) return 1;
  if (progress.target_steps() > 0) {
    return static_cast<double>(progress.step()) / static_cast<double>(progress.target_steps());
  }
  if (model.time_budget_seconds() <= 0 || !model.run().has_started_at()) return 0;
  return std::min(1.0, ElapsedSeconds(model.run(), now) / model.time_budget_seconds());
}

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

std::string Heading(const v1::Run& run, double now, int width, const TextStyle& style) {
  const std::string state = Upper(client::StateName(run.state()));
  const int widest_name = std::min(width / 2, width - DisplayWidth(state) - 4);
  const std::string name = CutMiddleToWidth(run.name(), widest_name, style.utf8);
  std::vector<LinePart> parts = {
      {DurationText(ElapsedSeconds(run, now))}, {run.run_id(), 2}, {Nodes(run), 1}};
  if (run.failures() > 0) parts.push_back({fmt::format("attempt {}", run.failures() + 1)});
  const int room = width - DisplayWidth(name) - DisplayWidth(state) - 4;
  return name + "  " + (style.color ? Colored(state, StateColor(run)) : state) + "  " +
         CutToWidth(FittedLine(std::move(parts), "   ", room), room, style.utf8);
}

// The reason for the run's state; empty while it is running.
std::string ReasonLine(const v1::Run& run, bool utf8) {
  return run.state() == v1::RUN_STATE_RUNNING ? "" : "  " + OneSafeLine(run.reason(), utf8);
}

std::string LiveEta(const RunModel& model, double now) {
  const v1::Run& run = model.run();
  if (client::IsTerminal(run.state())) return "";
  double seconds = client::SecondsLeft(run.progress());
  if (seconds < 0 && model.time_budget_seconds() > 0 && run.has_started_at()) {
    seconds = std::max(0.0, model.time_budget_seconds() - ElapsedSeconds(run, now));
  }
  return seconds < 0 ? "" : "ETA " + DurationText(seconds);
}

std::string BarLine(const RunModel& model, double now, int width, bool utf8) {
  const v1::Progress& progress = model.run().progress();
  const double fraction = Fraction(model, now);
  const double tokens = static_cast<double>(progress.tokens());
  const std::string text = FittedLine({{Percent(fraction)},
                                       {"step " + StepOfTarget(progress)},
                                       {CompactCount(tokens) + " tokens", 1},
                                       {LiveEta(model, now)}},
                                      "   ", width - kBarCellsMin - 2);
  const int bar = std::clamp(width - DisplayWidth(text) - 2, kBarCellsMin, 40);
  return ProgressBar(fraction, bar, utf8) + "  " + text;
}

template <typename Pick>
std::string Spark(const RunModel& model, int width, bool utf8, Pick pick) {
  std::vector<double> values;
  for (const v1::MetricPoint& point : model.points()) values.push_back(pick(point));
  return PadRight(Sparkline(values, SparkCells(width), utf8), SparkCells(width));
}

std::string LossLine(const RunModel& model, int width, bool utf8) {
  std::string text = fmt::format(
      "  train loss  {}  {}", PadRight(Loss(model.points().back().loss()), 8),
      Spark(model, width, utf8, [](const v1::MetricPoint& point) { return point.loss(); }));
  if (const v1::MetricPoint* validation = model.validation()) {
    text += fmt::format("   val {} @{}", Loss(validation->validation_loss()),
                        WithThousands(validation->step()));
  }
  return text;
}

// The newest scores (bits per byte and eval.tasks); empty before the first.
std::string ScoresLine(const RunModel& model, bool utf8) {
  std::string text;
  for (const auto& [name, score] : model.scores()) {
    text += fmt::format("{}{} {:.4f} @{}", text.empty() ? "  scores      " : "   ",
                        OneSafeLine(name, utf8), score.value(), WithThousands(score.step()));
  }
  return text;
}

std::string NormLine(const RunModel& model, int width, bool utf8) {
  const v1::MetricPoint& point = model.points().back();
  std::string text = fmt::format(
      "  grad norm   {:<8.2f}  {}   lr {}", point.gradient_norm(),
      Spark(model, width, utf8, [](const v1::MetricPoint& p) { return p.gradient_norm(); }),
      LearningRate(point.learning_rate()));
  if (const int64_t skipped = model.run().progress().skipped_steps(); skipped > 0) {
    text += fmt::format("   skipped {}", WithThousands(skipped));
  }
  return text;
}

std::string SpeedLine(const v1::Progress& progress, int width) {
  if (progress.step() == 0) return "";
  return FittedLine(
      {{fmt::format("  throughput  {} tok/s", CompactCount(progress.tokens_per_second()))},
       {"step " + StepTimeText(progress.step_seconds())},
       {MfuText(progress.mfu(), progress.peak_flops(), progress.peak_source()), 1}},
      "   ", width);
}

std::string PhaseLine(const v1::Progress& progress, int width) {
  if (!progress.has_phases() || progress.step_seconds() <= 0) return "";
  const std::string title = "  phases      ";
  return title + PhaseText(progress.phases(), progress.step_seconds(), width - DisplayWidth(title));
}

std::string WarningLine(const v1::Run& run, bool utf8) {
  return IsWarned(run) ? "! " + OneSafeLine(run.progress().warning(), utf8) : "";
}

std::string CheckpointLine(const v1::Run& run) {
  if (run.latest_checkpoint_step() < 0) return "";
  std::string text =
      fmt::format("  checkpoint  step {}", WithThousands(run.latest_checkpoint_step()));
  if (run.best_checkpoint_step() >= 0)
    text += fmt::format(", best at step {}", WithThousands(run.best_checkpoint_step()));
  return text;
}

std::string EventLine(const v1::RunEvent& event, bool utf8) {
  return fmt::format("  {}  {}", ClockText(event.at().seconds()),
                     OneSafeLine(event.reason(), utf8));
}

// The rows that are still free on the screen; one row is left for the cursor.
size_t RowsLeft(int height, size_t used) {
  if (height <= 0) return std::numeric_limits<size_t>::max();
  const size_t rows = static_cast<size_t>(height) - 1;
  return rows > used ? rows - used : 0;
}

}  // namespace

std::string RunScreen(const RunModel& model, double now, const TextStyle& style) {
  const int width = style.width > 0 ? style.width : kUsualWidth;
  const v1::Run& run = model.run();
  std::vector<std::string> lines = {ReasonLine(run, style.utf8),
                                    BarLine(model, now, width, style.utf8)};
  if (!model.points().empty()) {
    lines.push_back(LossLine(model, width, style.utf8));
    const std::string scores = ScoresLine(model, style.utf8);
    if (!scores.empty()) lines.push_back(scores);
    lines.push_back(NormLine(model, width, style.utf8));
    lines.push_back(SpeedLine(run.progress(), width));
    lines.push_back(PhaseLine(run.progress(), width));
  }
  lines.push_back(CheckpointLine(run));
  lines.push_back(WarningLine(run, style.utf8));
  std::vector<std::string> end;
  if (!model.notice().empty()) end.push_back("! " + OneSafeLine(model.notice(), style.utf8));
  if (!client::IsTerminal(run.state())) end.push_back("Ctrl-C leaves the run going.");
  std::erase(lines, "");
  const auto& events = model.events();
  const size_t used = 1 + lines.size() + end.size();
  const size_t shown = std::min(events.size(), RowsLeft(style.height, used));
  for (size_t i = events.size() - shown; i < events.size(); ++i) {
    lines.push_back(EventLine(events[i], style.utf8));
  }
  lines.insert(lines.end(), end.begin(), end.end());
  std::string out = Heading(run, now, width, style) + "\n";
  for (const std::string& line : lines) out += CutToWidth(line, width, style.utf8) + "\n";
  return out;
}

std::string ProgressLine(const RunModel& model, double now, const TextStyle& style) {
  const int width = style.width > 0 ? style.width : kUsualWidth;
  const v1::Run& run = model.run();
  const v1::Progress& progress = run.progress();
  if (!model.notice().empty()) {
    return CutToWidth("! " + OneSafeLine(model.notice(), style.utf8), width, style.utf8);
  }
  std::vector<LinePart> parts = {{"step " + StepOfTarget(progress)}};
  if (progress.step() > 0) {
    parts.push_back({"loss " + Loss(progress.loss())});
    parts.push_back({CompactCount(progress.tokens_per_second()) + " tok/s", 1});
  } else {
    parts.push_back({client::StateName(run.state())});
  }
  parts.push_back({LiveEta(model, now)});
  const std::string text = FittedLine(std::move(parts), "  ", width - kBarCellsMin - 2);
  const int bar = std::clamp(width - DisplayWidth(text) - 2, kBarCellsMin, 30);
  return CutToWidth(ProgressBar(Fraction(model, now), bar, style.utf8) + "  " + text, width,
                    style.utf8);
}

}  // namespace gp::gpctl
