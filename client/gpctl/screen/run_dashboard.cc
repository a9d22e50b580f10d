#include "client/gpctl/screen/run_dashboard.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/api/run_client.h"
#include "client/gpctl/render/run_lines.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/screen/run_curves.h"
#include "client/gpctl/screen/run_panes.h"
#include "client/gpctl/screen/screen_footer.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/screen_parts.h"

namespace gp::gpctl {
namespace {

constexpr int kNarrow = 60;     // below: no labels at the beginning of lines
constexpr int kWide = 150;      // from here on: curves and panes side by side
constexpr int kTwoCharts = 96;  // from here on: the lower charts side by side
constexpr int kRoomy = 34;      // rows from which on panes have several lines before curves grow
constexpr int kGap = 3;
constexpr int kUnlimited = 10'000;

// Which parts are left out first when there are few rows.
enum Rank {
  kEssential,
  kWarning,
  kNumbers,
  kLossCurve,
  kNews,
  kDetails,
  kSampleRank,
  kPlaces,
  kMoreCurves
};

class Dashboard {
 public:
  Dashboard(const RunModel& model, CurveSpan span, double now, const TextStyle& style)
      : model_(model), run_(model.run()), now_(now), style_(style), curve_style_{style, span} {}

  std::vector<ScreenPart> Parts() const {
    std::vector<ScreenPart> parts;
    AddHead(parts);
    AddNumbers(parts);
    if (style_.width >= kWide) {
      AddWideCurves(parts);
      AddWidePanes(parts);
    } else {
      AddCurves(parts);
      AddPanes(parts);
    }
    return parts;
  }

 private:
  bool narrow() const { return style_.width < kNarrow; }
  int label_width() const { return narrow() ? 0 : kRunLabelWidth; }
  TextStyle Narrowed(int width) const {
    TextStyle style = style_;
    style.width = std::max(width, 1);
    return style;
  }

  // The line behind a label; without it on a narrow terminal.
  ScreenLine Labelled(const std::string& label, const ScreenLine& line) const {
    ScreenLine out;
    if (!narrow()) out.Add("  " + label, Color::kGrey).PadTo(kRunLabelWidth);
    return out.Add(line);
  }

  // A part whose first line has the label.
  ScreenPart Pane(const std::string& label, int least, int most, int rank, int weight,
                  std::vector<ScreenLine> (*draw)(const RunModel&, int, const TextStyle&)) const {
    return {least, most, rank, weight, [this, label, draw](int rows) {
              std::vector<ScreenLine> lines =
                  draw(model_, rows, Narrowed(style_.width - label_width()));
              for (size_t i = 0; i < lines.size(); ++i) {
                lines[i] = Labelled(i == 0 ? label : "", lines[i]);
              }
              return lines;
            }};
  }

  void AddLine(const ScreenLine& line, int rank, std::vector<ScreenPart>& parts) const {
    if (!line.empty()) parts.push_back(FixedPart({line}, rank));
  }

  void AddHead(std::vector<ScreenPart>& parts) const {
    AddLine(RunHeading(run_, now_, style_.width, style_.utf8), kEssential, parts);
    const std::string reason = RunReasonLine(run_, style_.utf8);
    if (!reason.empty()) {
      const auto lines = WrappedLines(reason, style_.width, 4, 2);
      parts.push_back({.least = 1,
                       .most = static_cast<int>(lines.size()),
                       .rank = kWarning,
                       .weight = 20,
                       .draw = [lines](int /*rows*/) { return lines; }});
    }
    AddLine(ScreenLine(RunBarLine(model_, now_, style_.width, style_.width, style_.utf8)),
            kEssential, parts);
    for (const std::string& text :
         {RunWarningLine(run_, style_.utf8),
          model_.notice().empty() ? "" : "! " + OneSafeLine(model_.notice(), style_.utf8)}) {
      if (text.empty()) continue;
      const auto lines = WrappedLines(text, style_.width, 3, 2, Color::kYellow);
      parts.push_back({.least = 1,
                       .most = static_cast<int>(lines.size()),
                       .rank = kWarning,
                       .weight = 20,
                       .draw = [lines](int /*rows*/) { return lines; }});
    }
  }

  ScreenLine LossNumbers() const {
    const v1::Progress& progress = run_.progress();
    const int room = style_.width - label_width();
    std::vector<LinePart> parts = {
        {(narrow() ? "loss " : "") + Loss(model_.points().back().loss())}};
    if (const v1::MetricPoint* validation = model_.validation()) {
      parts.push_back({fmt::format("val {} @{}", Loss(validation->validation_loss()),
                                   WithThousands(validation->step()))});
    }
    if (progress.has_best_validation_loss()) {
      parts.push_back({fmt::format("best {} @{}", Loss(progress.best_validation_loss()),
                                   WithThousands(progress.best_validation_step())),
                       1});
    }
    return Labelled("loss", ScreenLine(FittedLine(std::move(parts), "   ", room)));
  }

  ScreenLine OptimizerNumbers() const {
    const v1::MetricPoint& point = model_.points().back();
    std::vector<LinePart> parts = {{fmt::format("grad norm {:.2f}", point.gradient_norm())},
                                   {"lr " + LearningRate(point.learning_rate())}};
    if (const int64_t skipped = run_.progress().skipped_steps(); skipped > 0) {
      parts.push_back({fmt::format("skipped {}", WithThousands(skipped))});
    }
    return Labelled("optimizer",
                    ScreenLine(FittedLine(std::move(parts), "   ", style_.width - label_width())));
  }

  ScreenLine SpeedNumbers() const {
    const v1::Progress& progress = run_.progress();
    if (progress.step() == 0) return {};
    const int room = style_.width - label_width();
    const std::string mfu = progress.mfu() > 0 ? "MFU " + Percent(progress.mfu()) : "";
    std::string long_mfu = MfuText(progress.mfu(), progress.peak_flops(), progress.peak_source());
    const std::string speed = CompactCount(progress.tokens_per_second()) + " tok/s";
    const std::string step = "step " + StepTimeText(progress.step_seconds());
    if (DisplayWidth(speed + step + long_mfu) + 6 > room) long_mfu = mfu;
    return Labelled("throughput",
                    ScreenLine(FittedLine({{speed}, {step, 1}, {long_mfu}}, "   ", room)));
  }

  static std::string WithoutLabel(const std::string& line) {
    return line.empty() ? "" : line.substr(std::min<size_t>(line.size(), kRunLabelWidth));
  }

  void AddNumbers(std::vector<ScreenPart>& parts) const {
    if (!model_.points().empty()) {
      AddLine(LossNumbers(), kNumbers, parts);
      const std::string scores = WithoutLabel(RunScoresLine(model_, style_.utf8));
      if (!scores.empty()) AddLine(Labelled("scores", ScreenLine(scores)), kDetails, parts);
      AddLine(OptimizerNumbers(), kDetails, parts);
      AddLine(SpeedNumbers(), kNumbers, parts);
      if (run_.progress().has_phases()) {
        parts.push_back(Pane("phases", 1, 2, kDetails, 2,
                             [](const RunModel& model, int rows, const TextStyle& style) {
                               return PhasePane(model.run().progress(), rows, style);
                             }));
      }
    }
    const std::string checkpoint = WithoutLabel(RunCheckpointLine(run_));
    if (!checkpoint.empty()) {
      AddLine(Labelled("checkpoint", ScreenLine((narrow() ? "checkpoint " : "") + checkpoint)),
              kDetails, parts);
    }
  }

  ScreenPart LossPart(int most) const {
    return {.least = 4, .most = most, .rank = kLossCurve, .weight = 12, .draw = [this](int rows) {
              return LossChart(model_.curves(), style_.width, rows, curve_style_);
            }};
  }

  void AddCurves(std::vector<ScreenPart>& parts) const {
    if (model_.points().empty()) return;
    parts.push_back(LossPart(kUnlimited));
    if (style_.width < kTwoCharts) return;
    parts.push_back({.least = 6,
                     .most = kUnlimited,
                     .rank = kMoreCurves,
                     .weight = 3,
                     .draw = [this](int rows) {
                       const int width = (style_.width - kGap) / 2;
                       return Beside(SpeedChart(model_.curves(), width, rows, curve_style_), width,
                                     GradientNormChart(model_.curves(), width, rows, curve_style_),
                                     width, kGap, style_.utf8);
                     }});
  }

  void AddPanes(std::vector<ScreenPart>& parts) const {
    const bool roomy = style_.height >= kRoomy;
    if (!run_.placement().empty()) {
      const int rows = NodePaneRows(run_);
      parts.push_back(Pane("ranks", roomy ? std::min(rows, 3) : 1, rows, kPlaces, 1,
                           [](const RunModel& model, int share, const TextStyle& style) {
                             return NodePane(model.run(), share, style);
                           }));
    }
    if (!model_.samples().empty()) {
      parts.push_back(Pane("sample", roomy ? 3 : 1, 8, kSampleRank, 2, &SamplePane));
    }
    if (!model_.events().empty()) {
      parts.push_back(Pane("events", roomy ? 4 : 1, 8, kNews, 2, &EventPane));
    }
  }

  void AddWideCurves(std::vector<ScreenPart>& parts) const {
    if (model_.points().empty()) return;
    parts.push_back(
        {.least = 4, .most = kUnlimited, .rank = kLossCurve, .weight = 6, .draw = [this](int rows) {
           const int right = (style_.width - kGap) / 3;
           const int left = style_.width - kGap - right;
           return Beside(LossChart(model_.curves(), left, rows, curve_style_), left,
                         SideCharts(right, rows), right, kGap, style_.utf8);
         }});
  }

  std::vector<ScreenLine> SideCharts(int width, int rows) const {
    const auto part = [&](auto chart, int rank) {
      return ScreenPart{.least = 6,
                        .most = kUnlimited,
                        .rank = rank,
                        .weight = 1,
                        .draw = [this, chart, width](int share) {
                          return chart(model_.curves(), width, share, curve_style_);
                        }};
    };
    return Stacked({part(&SpeedChart, 0), part(&GradientNormChart, 1), part(&LearningRateChart, 2)},
                   rows);
  }

  // Ranks, sample and events side by side, each below its title.
  void AddWidePanes(std::vector<ScreenPart>& parts) const {
    parts.push_back(
        {.least = 4, .most = 14, .rank = kNews, .weight = 4, .draw = [this](int rows) {
           const int first = style_.width / 5;
           const int second = (style_.width - first - 2 * kGap) / 2;
           const int third = style_.width - first - second - 2 * kGap;
           const auto left = Titled("ranks", NodePane(run_, rows - 2, Narrowed(first)), first);
           const auto middle =
               Titled("newest sample", SamplePane(model_, rows - 2, Narrowed(second)), second);
           const auto right = Titled("events", EventPane(model_, rows - 2, Narrowed(third)), third);
           std::vector<ScreenLine> lines = {ScreenLine()};
           const auto panes = Beside(Beside(left, first, middle, second, kGap, style_.utf8),
                                     first + kGap + second, right, third, kGap, style_.utf8);
           lines.insert(lines.end(), panes.begin(), panes.end());
           return lines;
         }});
  }

  std::vector<ScreenLine> Titled(const std::string& title, std::vector<ScreenLine> lines,
                                 int width) const {
    ScreenLine head(title + " ", Color::kBold);
    std::string rule;
    for (int i = head.width(); i < width; ++i) rule += style_.utf8 ? "─" : "-";
    lines.insert(lines.begin(), head.Add(rule, Color::kGrey));
    return lines;
  }

  const RunModel& model_;
  const v1::Run& run_;
  const double now_;
  const TextStyle style_;
  const CurveStyle curve_style_;
};

std::vector<KeyHelp> KeysOf(const RunModel& model, DashboardPage page) {
  if (page == DashboardPage::kHelp) return {{"?", "back"}, {"q", "leave"}};
  if (page == DashboardPage::kLog) return {{"l", "back"}, {"q", "leave"}, {"?", "help"}};
  const bool paused = model.run().state() == v1::RUN_STATE_PAUSED;
  return {{"q", "leave"}, {"p", paused ? "resume" : "pause"}, {"l", "log"}, {"?", "help"}};
}

std::vector<ScreenLine> HelpPage(const v1::Run& run, int rows, const TextStyle& style) {
  const std::vector<KeyHelp> keys = {{"q", "quit; the run continues (Ctrl-C does the same)"},
                                     {"p", "pause the run, or resume it; asks first"},
                                     {"l", "show or close the newest lines of the log"},
                                     {"z", "zoom the curves: last half, last tenth, all steps"},
                                     {"?", "show or close this page"},
                                     {"Ctrl-Z", "stop this screen; 'fg' brings it back"}};
  return HelpLines(
      keys,
      {"throughput, MFU and phases are means over about the last ten minutes of training. MFU is "
       "the share of the machine's peak FLOPs that the model uses.",
       fmt::format(
           "More of the run: gpctl status {0}, gpctl events {0}, gpctl metrics {0}, gpctl why {0}",
           run.name())},
      rows, style);
}

std::vector<ScreenLine> BodyOf(const RunModel& model, const DashboardView& view, double now,
                               const TextStyle& style, int rows) {
  if (view.page == DashboardPage::kMain)
    return Stacked(Dashboard(model, view.span, now, style).Parts(), rows);
  std::vector<ScreenLine> lines = {RunHeading(model.run(), now, style.width, style.utf8)};
  const auto page = view.page == DashboardPage::kHelp ? HelpPage(model.run(), rows - 1, style)
                                                      : LogPane(model, rows - 1, style);
  lines.insert(lines.end(), page.begin(), page.end());
  lines.resize(static_cast<size_t>(rows));
  return lines;
}

}  // namespace

std::vector<ScreenLine> RunDashboard(const RunModel& model, const DashboardView& view, double now,
                                     const TextStyle& style) {
  constexpr int kFooterMin = 3;  // rows from which on there is a footer
  const bool has_footer = style.height >= kFooterMin || !view.message.empty();
  const int rows = style.height - (has_footer ? 1 : 0);
  std::vector<ScreenLine> lines = BodyOf(model, view, now, style, rows);
  if (has_footer) {
    lines.push_back(ScreenFooter(KeysOf(model, view.page), view.message, now, style));
  }
  for (ScreenLine& line : lines) line = line.Cut(style.width, style.utf8);
  return lines;
}

}  // namespace gp::gpctl
