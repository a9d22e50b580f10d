// PointSeries: the reported steps of one run, kept compactly for charts. It appends, drops steps
// that a restarted run repeats, and returns at most as many points as a chart has columns, keeping
// the extremes and the places where the loss is NaN or infinite. A value; its owner guards it.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "contract/training_point.h"

namespace gp::gateway {

inline constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

// The number of columns: the charted fields of contract::TrainingPoint, in the order of its list.
constexpr size_t CountColumns() {
  size_t count = 0;
  contract::TrainingPoint::ForEachField(
      [&count](const contract::FieldInfo& field, auto) { count += field.charted ? 1 : 0; });
  return count;
}

// REQUIRES: the field is charted.
template <typename Member>
constexpr size_t ColumnOf(Member member) {
  size_t column = 0;
  bool found = false;
  contract::TrainingPoint::ForEachField([&](const contract::FieldInfo& field, auto candidate) {
    if constexpr (std::is_same_v<decltype(candidate), Member>) found = found || candidate == member;
    column += field.charted && !found ? 1 : 0;
  });
  return column;
}

inline constexpr size_t kLossColumn = ColumnOf(&contract::TrainingPoint::loss);
inline constexpr size_t kValidationColumn = ColumnOf(&contract::TrainingPoint::validation_loss);

// One committed step.
struct Point {
  Point() { columns.fill(kAbsent); }
  void Set(size_t column, float value) {
    columns[column] = value;
    measured.set(column);
  }

  int64_t step = 0;
  double at = 0;       // seconds since 1970
  int64_t tokens = 0;  // trained on since step 0
  std::array<float, CountColumns()> columns;
  std::bitset<CountColumns()> measured;  // by column; a measured number may be NaN, too
  std::shared_ptr<const std::map<std::string, double>> scores;  // null for most steps
  uint32_t order = 0;  // set by PointSeries: the count of appended points, this one included

  float loss() const { return columns[kLossColumn]; }
  float validation_loss() const { return columns[kValidationColumn]; }
  bool evaluated() const { return measured[kValidationColumn] || scores != nullptr; }
};

Point CompactPoint(const contract::TrainingPoint& point);

// Returns at most `count_max` (at least 2) of `points`, in order; all if there are no more. Keeps
// the evaluated points if they are fewer than `count_max`, otherwise those with the lowest and the
// highest validation loss in equal ranges of steps; then the last point and, if there is room, the
// first one; and in the remaining places the points with the lowest and the highest training loss
// in equal ranges of steps, and the first and the last point of each range whose training loss is
// not finite.
std::vector<Point> Decimate(std::span<const Point> points, size_t count_max);

// Steps from..to, both included, as at most `count_max` points.
struct PointRange {
  int64_t from = std::numeric_limits<int64_t>::min();
  int64_t to = std::numeric_limits<int64_t>::max();
  size_t count_max = 1000;
};

class PointSeries {
 public:
  // When there are more points, they are decimated to half of this number; so a longer run has a
  // lower resolution. A full series takes about 5 MiB.
  static constexpr size_t kCapacity = 65536;

  explicit PointSeries(size_t capacity = kCapacity) : capacity_(capacity) {}

  // First drops the points from this step on: a restarted run repeats them.
  void Append(Point point);
  void Clear() { points_.clear(); }

  size_t size() const { return points_.size(); }
  // The number of points ever appended. A reader passes it to After to get later points.
  uint32_t appended() const { return appended_; }
  // -1 when there is no point.
  int64_t last_step() const { return points_.empty() ? -1 : points_.back().step; }

  std::vector<Point> Select(const PointRange& range) const;
  // Points appended after the first `appended`, decimated to at most `count_max`. After a restart
  // the first of them may have a lower step than points that were returned before.
  std::vector<Point> After(uint32_t appended, size_t count_max) const;

 private:
  const size_t capacity_;
  std::vector<Point> points_;  // sorted by step and by order
  uint32_t appended_ = 0;
};

}  // namespace gp::gateway
