// ThinnedCurve: the points of one quantity over the steps of a run of any length, in bounded
// memory. When there are too many, the smallest and the largest of each four neighbours are kept,
// and the newest point. A value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gp::gpctl {

class ThinnedCurve {
 public:
  struct Point {
    int64_t step = 0;
    double value = 0;  // may be infinite or NaN
  };

  // REQUIRES: points_max >= 8.
  explicit ThinnedCurve(size_t points_max = 8192) : points_max_(points_max) {}

  // Steps that are repeated after a restart replace the old ones and all later ones.
  void Add(int64_t step, double value);
  // Forgets the points from `step` on.
  void CutFrom(int64_t step);

  const std::vector<Point>& points() const { return points_; }  // by step

 private:
  void Thin();

  size_t points_max_;
  std::vector<Point> points_;
};

}  // namespace gp::gpctl
