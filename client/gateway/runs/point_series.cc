#include "client/gateway/runs/point_series.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace gp::gateway {
namespace {

using Marks = std::vector<bool>;  // by index: whether the point is kept

// Divides the range of steps into `buckets` equal parts, and calls `visit` with the indices
// [begin, end) of the points in each part that has some.
template <typename Visit>
void ForEachBucket(std::span<const Point> points, size_t buckets, const Visit& visit) {
  if (buckets == 0) return;
  const double first = static_cast<double>(points.front().step);
  const double width = static_cast<double>(points.back().step) - first + 1;
  const auto bucket_of = [&](const Point& point) {
    return static_cast<size_t>((static_cast<double>(point.step) - first) / width *
                               static_cast<double>(buckets));
  };
  for (size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const size_t bucket = bucket_of(points[begin]);
    while (end < points.size() && bucket_of(points[end]) == bucket) ++end;
    visit(begin, end);
  }
}

// Marks the points with the lowest and the highest value in each of `buckets` parts. Skips points
// whose value is not finite.
template <typename Value>
void MarkExtremes(std::span<const Point> points, size_t buckets, const Value& value, Marks& marks) {
  ForEachBucket(points, buckets, [&](size_t begin, size_t end) {
    size_t least = end;
    size_t greatest = end;
    for (size_t i = begin; i < end; ++i) {
      const float at = value(points[i]);
      if (!std::isfinite(at)) continue;
      if (least == end || at < value(points[least])) least = i;
      if (greatest == end || at > value(points[greatest])) greatest = i;
    }
    if (least == end) return;
    marks[least] = true;
    marks[greatest] = true;
  });
}

bool HasGap(const Point& point) {
  return point.measured[kLossColumn] && !std::isfinite(point.loss());
}

// Marks the first and the last point of each of `buckets` parts whose loss is not finite.
void MarkGaps(std::span<const Point> points, size_t buckets, Marks& marks) {
  ForEachBucket(points, buckets, [&](size_t begin, size_t end) {
    size_t last = end;
    for (size_t i = begin; i < end; ++i) {
      if (!HasGap(points[i])) continue;
      if (last == end) marks[i] = true;
      last = i;
    }
    if (last != end) marks[last] = true;
  });
}

// Marks the evaluated points, or the extremes of their validation losses if there are more than
// `count_max`. Returns the number of places that they take.
size_t MarkEvaluated(std::span<const Point> points, size_t count_max, Marks& marks) {
  const auto count = static_cast<size_t>(
      std::count_if(points.begin(), points.end(), [](const Point& p) { return p.evaluated(); }));
  if (count > count_max) {
    MarkExtremes(
        points, count_max / 2, [](const Point& p) { return p.validation_loss(); }, marks);
    return count_max;
  }
  for (size_t i = 0; i < points.size(); ++i) marks[i] = points[i].evaluated();
  return count;
}

std::vector<Point> Marked(std::span<const Point> points, const Marks& marks) {
  std::vector<Point> kept;
  for (size_t i = 0; i < points.size(); ++i) {
    if (marks[i]) kept.push_back(points[i]);
  }
  return kept;
}

}  // namespace

Point CompactPoint(const contract::TrainingPoint& point) {
  Point compact;
  compact.step = point.step;
  compact.at = static_cast<double>(point.at_us) * 1e-6;
  compact.tokens = point.tokens;
  size_t column = 0;
  contract::VisitFields(point, [&](const contract::FieldInfo& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if (!field.charted) return;
    if constexpr (std::is_same_v<Value, double>) {
      if (!(field.zero_is_unknown && value == 0)) compact.Set(column, static_cast<float>(value));
    } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
      if (value) compact.Set(column, static_cast<float>(*value));
    } else {
      GP_CHECK(false, "{} is charted but is not a number", field.name);
    }
    ++column;
  });
  if (!point.scores.empty()) {
    compact.scores = std::make_shared<const std::map<std::string, double>>(point.scores);
  }
  return compact;
}

std::vector<Point> Decimate(std::span<const Point> points, size_t count_max) {
  if (points.size() <= count_max) return {points.begin(), points.end()};
  Marks marks(points.size(), false);
  // The places go first to evaluated points, at most count_max - 1 of them, then to the last and
  // the first point, and the rest to the extremes of the training loss.
  const size_t evaluated = MarkEvaluated(points, count_max - 1, marks);
  size_t left = count_max - evaluated;
  for (const size_t end : {points.size() - 1, size_t{0}}) {
    if (marks[end] || left == 0) continue;
    marks[end] = true;
    --left;
  }
  // Each stretch of extremes or gaps takes two places.
  const bool has_gaps = std::any_of(points.begin(), points.end(), HasGap);
  const size_t gaps = has_gaps ? left / 4 : 0;
  MarkExtremes(
      points, left / 2 - gaps, [](const Point& p) { return p.loss(); }, marks);
  if (has_gaps) MarkGaps(points, gaps, marks);
  return Marked(points, marks);
}

void PointSeries::Append(Point point) {
  while (!points_.empty() && points_.back().step >= point.step) points_.pop_back();
  point.order = ++appended_;
  points_.push_back(point);
  if (points_.size() > capacity_) points_ = Decimate(points_, capacity_ / 2);
}

std::vector<Point> PointSeries::Select(const PointRange& range) const {
  const auto before = [](const Point& point, int64_t step) { return point.step < step; };
  const auto begin = std::lower_bound(points_.begin(), points_.end(), range.from, before);
  const auto end = range.to == std::numeric_limits<int64_t>::max()
                       ? points_.end()
                       : std::lower_bound(begin, points_.end(), range.to + 1, before);
  if (begin >= end) return {};
  return Decimate({begin, end}, range.count_max);
}

std::vector<Point> PointSeries::After(uint32_t appended, size_t count_max) const {
  const auto begin =
      std::partition_point(points_.begin(), points_.end(),
                           [appended](const Point& point) { return point.order <= appended; });
  return Decimate({begin, points_.end()}, count_max);
}

}  // namespace gp::gateway
