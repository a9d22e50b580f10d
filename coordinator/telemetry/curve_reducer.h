// CurveReducer: keeps about `points_max` points of a curve, whatever its length: the first and the
// last one, and of each stretch between them the lowest, the highest, and the first and last that
// are not finite. A curve of at most `points_max` points stays whole. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gp::coordinator {

struct CurvePoint {
  int64_t step = 0;
  int64_t tokens = 0;
  double seconds = 0;
  double value = 0;
};

class CurveReducer {
 public:
  // REQUIRES: points_max >= 2. Twice as many points are kept if every stretch has values that are
  // not finite.
  explicit CurveReducer(size_t points_max);

  void Add(const CurvePoint& point);

  // The points that are kept, in the order of Add.
  std::vector<CurvePoint> Points() const;

 private:
  struct Numbered {
    int64_t index = 0;
    CurvePoint point;
  };
  struct Stretch {
    std::optional<Numbered> lowest;
    std::optional<Numbered> highest;
    std::optional<Numbered> first_not_finite;
    std::optional<Numbered> last_not_finite;

    void Add(const Numbered& one);
    // Adds the points of the stretch after this one.
    void Append(const Stretch& next);
  };

  void JoinPairs();

  size_t stretches_max_;
  int64_t points_per_stretch_ = 1;
  int64_t count_ = 0;
  std::optional<Numbered> first_;
  std::optional<Numbered> last_;
  std::vector<Stretch> stretches_;
};

}  // namespace gp::coordinator
