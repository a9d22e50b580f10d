// GradientBuckets: collects the ranges of a gradient, as backward finishes them, into pieces that
// are large enough for an all-reduce. The pieces depend only on the ranges and their order, so they
// are the same on every rank. A value; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/engine/model/gradient_stages.h"

namespace gp::engine {

class GradientBuckets {
 public:
  explicit GradientBuckets(int64_t elements_min) : elements_min_(elements_min) {}

  // Adds a range that overlaps no earlier one. Returns the bucket that it completes, if any:
  // adjacent ranges joined, with at least elements_min elements.
  std::optional<GradientRange> Add(GradientRange range);

  // The ranges that are in no bucket yet, ascending.
  std::vector<GradientRange> TakeRest();

 private:
  const int64_t elements_min_;
  std::vector<GradientRange> open_;  // ascending, not adjacent
};

}  // namespace gp::engine
