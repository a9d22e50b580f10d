#include "client/gpctl/commands/results/run_charts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text/counted_noun.h"
#include "client/gpctl/plot/smoothing.h"
#include "contract/training_point.h"

namespace gp::gpctl {
namespace {

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string UnitOf(const std::string& field) {
  if (field == "loss" || field == "val_loss") return "nats per token";
  if (field == contract::kBitsPerByte) return "bits per byte";
  if (field == "step_seconds") return "seconds";
  if (field == "mfu") return "share of the peak";
  return "";
}

std::string StrokeWord(size_t stroke) {
  constexpr const char* kWords[kStrokeCount] = {"", " dashed", " dotted", " dash-dotted"};
  return kWords[stroke];
}

// The stroke of a run's curve of the `field`-th field of a panel. The runs beyond the last color
// have the colors of the first ones, and other strokes.
size_t StrokeOf(size_t run, size_t field) {
  return (run / kCurveColorCount * FieldsMax(kCurveColorCount + 1) + field) % kStrokeCount;
}

// "loss, val_loss dashed (nats per token)"
std::string TitleOf(const std::vector<std::string>& fields, size_t runs) {
  std::string title;
  std::string later;  // the strokes of the runs that have the colors of the first ones
  bool one_unit = true;
  for (size_t i = 0; i < fields.size(); ++i) {
    one_unit = one_unit && UnitOf(fields[i]) == UnitOf(fields.front());
    title += (i == 0 ? "" : ", ") + fields[i] + StrokeWord(StrokeOf(0, i));
    later += (i == 0 ? "" : " and") + StrokeWord(StrokeOf(kCurveColorCount, i));
  }
  if (runs > kCurveColorCount)
    title += fmt::format("; from run {} on{}", kCurveColorCount + 1, later);
  const std::string unit = one_unit ? UnitOf(fields.front()) : "";
  return unit.empty() ? title : fmt::format("{} ({})", title, unit);
}

std::vector<double> XOf(const v1::CurvePoints& points, AxisKind kind) {
  switch (kind) {
    case AxisKind::kTokens:
      return {points.tokens().begin(), points.tokens().end()};
    case AxisKind::kTime:
      return {points.seconds().begin(), points.seconds().end()};
    default:
      return {points.steps().begin(), points.steps().end()};
  }
}

class ChartMaker {
 public:
  ChartMaker(const std::vector<NamedRun>& runs, const ChartRequest& request, Session& session)
      : runs_(runs), request_(request), session_(session) {}

  StatusOr<RunCharts> Make() {
    for (const auto& panel : request_.panels) {
      for (const std::string& field : panel) {
        const bool is_new = std::find(fields_.begin(), fields_.end(), field) == fields_.end();
        if (is_new) fields_.push_back(field);
      }
    }
    RETURN_IF_ERROR(Fetch());
    for (const auto& panel : request_.panels) AddPanel(panel);
    if (charts_.panels.empty()) return WhyEmpty();
    ShareXAxis();
    for (const Chart& chart : charts_.panels) {
      for (std::string& note : MissingPointNotes(chart)) AddNote(std::move(note));
    }
    return std::move(charts_);
  }

 private:
  Status Fetch() {
    ASSIGN_OR_RETURN(client::RunClient * client, session_.Client());
    for (const NamedRun& one : runs_) {
      v1::CurvesRequest request;
      request.set_run(one.run.run_id());
      for (const std::string& field : fields_) request.add_fields(field);
      // A mean needs every point; extremes alone would distort it.
      request.set_max_points(request_.smooth > 1 ? 0 : request_.points_max);
      ASSIGN_OR_RETURN(points_.emplace_back(), client->Curves(request));
    }
    return OkStatus();
  }

  const v1::CurvePoints& PointsOf(size_t run, const std::string& field) const {
    const auto found = std::find(fields_.begin(), fields_.end(), field);
    return points_[run][found - fields_.begin()];
  }

  // Whether it has finished a step, though perhaps without a value of these fields.
  bool HasPoints(size_t run) const {
    return runs_[run].run.progress().step() > 0 ||
           std::any_of(points_[run].begin(), points_[run].end(),
                       [](const v1::CurvePoints& points) { return points.steps_size() > 0; });
  }

  void AddNote(std::string note) {
    if (std::find(charts_.notes.begin(), charts_.notes.end(), note) == charts_.notes.end()) {
      charts_.notes.push_back(std::move(note));
    }
  }

  std::string LabelOf(size_t run, const std::string& field, bool of_main) const {
    if (runs_.size() == 1) return field;
    return of_main ? runs_[run].label : "";
  }

  void AddPanel(const std::vector<std::string>& fields) {
    Chart chart{.title = TitleOf(fields, runs_.size()), .x_axis = request_.x, .log = request_.log};
    for (size_t run = 0; run < runs_.size(); ++run) {
      if (!HasPoints(run)) {
        AddNote(NoPointsText(runs_[run], session_.Now()));
        continue;
      }
      // The first field that the run has gets the run's name.
      bool of_main = true;
      for (size_t i = 0; i < fields.size(); ++i) {
        const v1::CurvePoints& points = PointsOf(run, fields[i]);
        if (points.steps_size() == 0) {
          AddNote(fmt::format("{} has no {}{}", runs_[run].label, fields[i],
                              IsEvaluated(fields[i]) ? ": it was not evaluated yet" : " yet"));
          continue;
        }
        // The fields of a single run differ by color, too.
        const size_t color = runs_.size() == 1 ? i : run;
        AddCurves(points,
                  {.label = LabelOf(run, fields[i], of_main),
                   .color = static_cast<int>(color),
                   .stroke = static_cast<Stroke>(StrokeOf(run, i))},
                  chart);
        of_main = false;
      }
    }
    if (!chart.curves.empty()) charts_.panels.push_back(std::move(chart));
  }

  void AddCurves(const v1::CurvePoints& points, Curve curve, Chart& chart) const {
    curve.x = XOf(points, request_.x);
    curve.y = {points.values().begin(), points.values().end()};
    const auto points_max = static_cast<size_t>(request_.points_max);
    if (request_.smooth > 1 && !IsEvaluated(points.field())) {
      Curve smoothed = curve;
      smoothed.y = Smoothed(curve.y, request_.smooth);
      chart.curves.push_back(Thinned(std::move(smoothed), points_max));
      curve.label.clear();
      curve.faint = true;
    }
    chart.curves.push_back(Thinned(std::move(curve), points_max));
  }

  void ShareXAxis() {
    AxisRange all = AxesOf(charts_.panels.front()).x.range;
    for (const Chart& chart : charts_.panels) {
      const AxisRange range = AxesOf(chart).x.range;
      all = {std::min(all.low, range.low), std::max(all.high, range.high)};
    }
    for (Chart& chart : charts_.panels) chart.x_range = all;
  }

  Status WhyEmpty() const {
    std::string why;
    for (const std::string& note : charts_.notes) why += (why.empty() ? "" : "\n") + note;
    return FailedPrecondition("{}", why);
  }

  const std::vector<NamedRun>& runs_;
  const ChartRequest& request_;
  Session& session_;
  std::vector<std::string> fields_;
  std::vector<std::vector<v1::CurvePoints>> points_;  // by run, then as fields_
  RunCharts charts_;
};

}  // namespace

bool IsEvaluated(const std::string& field) {
  return field == "val_loss" || contract::IsScoreName(field);
}

size_t FieldsMax(size_t runs) {
  if (runs == 1) return kCurveColorCount;
  return runs <= kCurveColorCount ? kStrokeCount : kStrokeCount / 2;
}

StatusOr<std::vector<std::vector<std::string>>> ParsePanels(const std::vector<std::string>& words,
                                                            const std::vector<NamedRun>& runs) {
  std::vector<std::vector<std::string>> panels;
  const size_t fields_max = FieldsMax(runs.size());
  for (const std::string& word : words) {
    panels.push_back(SplitAt(word, '+'));
    if (panels.back().size() > fields_max) {
      return InvalidArgument(
          "--y: {} fields in one panel; expected at most {} for {}, which can be told apart; ',' "
          "instead of '+' begins another panel",
          panels.back().size(), fields_max, CountedNoun(static_cast<int64_t>(runs.size()), "run"));
    }
    for (const std::string& field : panels.back()) {
      RETURN_IF_ERROR(WithContext(CheckField(field, runs), "--y"));
    }
  }
  return panels;
}

StatusOr<RunCharts> FetchCharts(const std::vector<NamedRun>& runs, const ChartRequest& request,
                                Session& session) {
  return ChartMaker(runs, request, session).Make();
}

}  // namespace gp::gpctl
