// GradientBuckets: collects the ranges of a gradient, as backward finishes them, into pieces that
// are worth an all-reduce of their own. What comes out depends on the ranges and their order alone,
// so it is the same on every rank. A value; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/engine/model/gradient_stages.h"

namespace gp::engine {

class GradientBuckets {
 public:
  explicit GradientBuckets(int64_t elements_min) : elements_min_(elements_min) {}

  // Adds a range that overlaps none before it. Answers the bucket that this completes: adjacent
  // ranges as one, with at least elements_min elements.
  std::optional<GradientRange> Add(GradientRange range);

  // What no bucket has held, ascending.
  std::vector<GradientRange> TakeRest();

 private:
  const int64_t elements_min_;
  std::vector<GradientRange> open_;  // ascending, not adjacent
};

}  // namespace gp::engine
