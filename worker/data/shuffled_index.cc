#include "worker/data/shuffled_index.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/mix_bits.h"

namespace gp::engine {
namespace {

constexpr uint64_t kRounds = 6;

}  // namespace

int64_t ShuffledIndex(uint64_t key, int64_t index, int64_t count) {
  GP_CHECK(index >= 0 && index < count, "{} of {}", index, count);
  const int bits = std::bit_width(static_cast<uint64_t>(count - 1));
  const int half = std::max((bits + 1) / 2, 1);
  const uint64_t mask = (uint64_t{1} << half) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mixed = left ^ (MixBits(MixBits(key + round) ^ right) & mask);
      left = right;
      right = mixed;
    }
    value = left << half | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}

}  // namespace gp::engine
