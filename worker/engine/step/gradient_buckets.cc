#include "worker/engine/step/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace gp::engine {

std::optional<GradientRange> GradientBuckets::Add(GradientRange range) {
  auto next = std::lower_bound(
      open_.begin(), open_.end(), range,
      [](const GradientRange& a, const GradientRange& b) { return a.first < b.first; });
  if (next != open_.end() && next->first == range.last) {
    range.last = next->last;
    next = open_.erase(next);
  }
  if (next != open_.begin() && std::prev(next)->last == range.first) {
    next = std::prev(next);
    range.first = next->first;
    next = open_.erase(next);
  }
  if (range.last - range.first >= elements_min_) return range;
  open_.insert(next, range);
  return std::nullopt;
}

std::vector<GradientRange> GradientBuckets::TakeRest() { return std::exchange(open_, {}); }

}  // namespace gp::engine
