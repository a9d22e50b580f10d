#include "client/gpctl/render/run_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "client/api/run_state_name.h"
#include "client/gpctl/render/run_lines.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/sparkline.h"

namespace gp::gpctl {
namespace {

constexpr int kUsualWidth = 80;

constexpr int kBarCellsMax = 40;
constexpr size_t kEventsMax = 5;
constexpr int kSparkCellsMax = 24;

// The width of a sparkline: the space that the numbers leave, within limits.
int SparkCells(int width) { return std::clamp(width - 52, 8, kSparkCellsMax); }

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
  std::vector<std::string> lines = {RunReasonLine(run, style.utf8),
                                    RunBarLine(model, now, width, kBarCellsMax, style.utf8)};
  if (!model.points().empty()) {
    lines.push_back(LossLine(model, width, style.utf8));
    const std::string scores = RunScoresLine(model, style.utf8);
    if (!scores.empty()) lines.push_back(scores);
    lines.push_back(NormLine(model, width, style.utf8));
    lines.push_back(RunSpeedLine(run.progress(), width));
    lines.push_back(RunPhaseLine(run.progress(), width));
  }
  lines.push_back(RunCheckpointLine(run));
  lines.push_back(RunWarningLine(run, style.utf8));
  const std::string notice =
      model.notice().empty() ? "" : "! " + OneSafeLine(model.notice(), style.utf8);
  std::erase(lines, "");
  const auto& events = model.events();
  const size_t used = 1 + lines.size() + (notice.empty() ? 0 : 1);
  const size_t shown = std::min({events.size(), kEventsMax, RowsLeft(style.height, used)});
  for (size_t i = events.size() - shown; i < events.size(); ++i) {
    lines.push_back(RunEventLine(events[i], style.utf8));
  }
  if (!notice.empty()) lines.push_back(notice);
  std::string out = RunHeading(run, now, width, style.utf8).Text(style.color) + "\n";
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
  parts.push_back({RunEta(model, now)});
  const std::string text = FittedLine(std::move(parts), "  ", width - kRunBarMin - 2);
  const int bar = std::clamp(width - DisplayWidth(text) - 2, kRunBarMin, 30);
  return CutToWidth(ProgressBar(RunFraction(model, now), bar, style.utf8) + "  " + text, width,
                    style.utf8);
}

}  // namespace gp::gpctl
