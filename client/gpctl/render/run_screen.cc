#include "client/gpctl/render/run_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "client/api/run_client.h"
#include "client/api/time_left.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/sparkline.h"

namespace gp::gpctl {
namespace {

constexpr int kUsualWidth = 80;
constexpr int kSparkCells = 24;

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
      fmt::format("   {} rank{} on", run.placement_size(), run.placement_size() == 1 ? "" : "s");
  for (const std::string& name : names) text += " " + name;
  return text;
}

std::string Heading(const v1::Run& run, double now) {
  std::string text =
      fmt::format("{}  {}   {}  {}", run.name(), run.run_id(), Upper(StateName(run.state())),
                  DurationText(ElapsedSeconds(run, now)));
  text += Nodes(run);
  if (run.failures() > 0) text += fmt::format("   attempt {}", run.failures() + 1);
  return text;
}

// The reason why the run does not go on; empty for a running one.
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
  return seconds < 0 ? "" : "   ETA " + DurationText(seconds);
}

std::string BarLine(const RunModel& model, double now, int width, bool utf8) {
  const v1::Progress& progress = model.run().progress();
  const double fraction = Fraction(model, now);
  std::string text =
      fmt::format("  {}   step {}", Percent(fraction), WithThousands(progress.step()));
  if (progress.target_steps() > 0) text += "/" + WithThousands(progress.target_steps());
  text += fmt::format("   {} tokens", CompactCount(static_cast<double>(progress.tokens()))) +
          LiveEta(model, now);
  const int bar = std::clamp(width - DisplayWidth(text), 12, 40);
  return ProgressBar(fraction, bar, utf8) + text;
}

template <typename Pick>
std::string Spark(const RunModel& model, bool utf8, Pick pick) {
  std::vector<double> values;
  for (const v1::MetricPoint& point : model.points()) values.push_back(pick(point));
  return PadRight(Sparkline(values, kSparkCells, utf8), kSparkCells);
}

std::string LossLine(const RunModel& model, bool utf8) {
  std::string text =
      fmt::format("  train loss  {}  {}", PadRight(Loss(model.points().back().loss()), 8),
                  Spark(model, utf8, [](const v1::MetricPoint& point) { return point.loss(); }));
  if (const v1::MetricPoint* validation = model.validation()) {
    text += fmt::format("   val {} @{}", Loss(validation->validation_loss()),
                        WithThousands(validation->step()));
  }
  return text;
}

// The newest bits per byte and answers; nothing before the first.
std::string ScoresLine(const RunModel& model, bool utf8) {
  std::string text;
  for (const auto& [name, score] : model.scores()) {
    text += fmt::format("{}{} {:.4f} @{}", text.empty() ? "  scores      " : "   ",
                        OneSafeLine(name, utf8), score.value(), WithThousands(score.step()));
  }
  return text;
}

std::string NormLine(const RunModel& model, bool utf8) {
  const v1::MetricPoint& point = model.points().back();
  std::string text =
      fmt::format("  grad norm   {:<8.2f}  {}   lr {}", point.gradient_norm(),
                  Spark(model, utf8, [](const v1::MetricPoint& p) { return p.gradient_norm(); }),
                  LearningRate(point.learning_rate()));
  if (const int64_t skipped = model.run().progress().skipped_steps(); skipped > 0) {
    text += fmt::format("   skipped {}", WithThousands(skipped));
  }
  return text;
}

std::string SpeedLine(const v1::Progress& progress) {
  if (progress.step() == 0) return "";
  std::string text =
      fmt::format("  throughput  {} tok/s", CompactCount(progress.tokens_per_second()));
  text += fmt::format("   step {:.0f} ms", 1000 * progress.step_seconds());
  const std::string mfu = MfuText(progress.mfu(), progress.peak_flops(), progress.peak_source());
  return mfu.empty() ? text : text + "   " + mfu;
}

std::string PhaseLine(const v1::Progress& progress) {
  if (!progress.has_phases() || progress.step_seconds() <= 0) return "";
  return "  phases      " + PhaseText(progress.phases(), progress.step_seconds());
}

std::string WarningLine(const v1::Run& run, bool utf8) {
  const std::string& warning = run.progress().warning();
  return warning.empty() ? "" : "! " + OneSafeLine(warning, utf8);
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

}  // namespace

std::string RunScreen(const RunModel& model, double now, const TextStyle& style) {
  const int width = style.width > 0 ? style.width : kUsualWidth;
  const v1::Run& run = model.run();
  std::vector<std::string> lines = {Heading(run, now), ReasonLine(run, style.utf8),
                                    BarLine(model, now, width, style.utf8)};
  if (!model.points().empty()) {
    lines.push_back(LossLine(model, style.utf8));
    const std::string scores = ScoresLine(model, style.utf8);
    if (!scores.empty()) lines.push_back(scores);
    lines.push_back(NormLine(model, style.utf8));
    lines.push_back(SpeedLine(run.progress()));
    lines.push_back(PhaseLine(run.progress()));
  }
  lines.push_back(CheckpointLine(run));
  lines.push_back(WarningLine(run, style.utf8));
  for (const v1::RunEvent& event : model.events()) lines.push_back(EventLine(event, style.utf8));
  if (!model.notice().empty()) lines.push_back("! " + OneSafeLine(model.notice(), style.utf8));
  if (!client::IsTerminal(run.state())) lines.push_back("Ctrl-C leaves the run going.");
  std::string out;
  for (const std::string& line : lines) {
    if (!line.empty()) out += CutToWidth(line, width, style.utf8) + "\n";
  }
  return out;
}

std::string ProgressLine(const RunModel& model, double now, const TextStyle& style) {
  const int width = style.width > 0 ? style.width : kUsualWidth;
  const v1::Run& run = model.run();
  const v1::Progress& progress = run.progress();
  if (!model.notice().empty()) {
    return CutToWidth("! " + OneSafeLine(model.notice(), style.utf8), width, style.utf8);
  }
  std::string text = fmt::format("  step {}", WithThousands(progress.step()));
  if (progress.target_steps() > 0) text += "/" + WithThousands(progress.target_steps());
  if (progress.step() > 0) {
    text += fmt::format("  loss {}  {} tok/s", Loss(progress.loss()),
                        CompactCount(progress.tokens_per_second()));
  } else {
    text += "  " + StateName(run.state());
  }
  text += LiveEta(model, now);
  const int bar = std::clamp(width - DisplayWidth(text), 12, 30);
  return CutToWidth(ProgressBar(Fraction(model, now), bar, style.utf8) + text, width, style.utf8);
}

}  // namespace gp::gpctl
