#include "worker/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/mix_bits.h"
#include "runspec/cross_check.h"
#include "worker/data/shuffled_index.h"

namespace gp::engine {
namespace {

// Large enough that the largest source can fill each block, however the others round.
constexpr int64_t kBlockRows = 4096;
static_assert(kBlockRows >= runspec::kMixedSourcesMax * runspec::kMixedSourcesMax);

// Makes the key of a block's order differ from the keys that shuffle a source's windows.
constexpr uint64_t kBlockKey = 0x6d69787475726573;

}  // namespace

Mixture::Mixture(uint64_t seed, const std::vector<double>& weights)
    : seed_(seed), shares_(weights) {
  GP_CHECK(!weights.empty() && weights.size() <= runspec::kMixedSourcesMax);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& share : shares_) share /= sum;
  largest_ =
      static_cast<size_t>(std::max_element(shares_.begin(), shares_.end()) - shares_.begin());
}

// The number of rows of `source` before `block`. REQUIRES: not the largest source.
int64_t Mixture::RowsBefore(size_t source, int64_t block) const {
  return static_cast<int64_t>(
      std::floor(shares_[source] * static_cast<double>(block * kBlockRows)));
}

Mixture::Draw Mixture::At(int64_t row) const {
  if (shares_.size() == 1) return {0, row};
  const int64_t block = row / kBlockRows;
  const uint64_t key = MixBits(MixBits(seed_ ^ kBlockKey) ^ static_cast<uint64_t>(block));
  // In the block's shuffled order, the first places belong to the first source, the next ones to
  // the second source, and so on; the largest source has the last places.
  int64_t place = ShuffledIndex(key, row % kBlockRows, kBlockRows);
  int64_t largest_before = block * kBlockRows;
  for (size_t source = 0; source < shares_.size(); ++source) {
    if (source == largest_) continue;
    const int64_t before = RowsBefore(source, block);
    const int64_t count = RowsBefore(source, block + 1) - before;
    if (place < count) return {source, before + place};
    place -= count;
    largest_before -= before;
  }
  return {largest_, largest_before + place};
}

}  // namespace gp::engine
