// Numbers that follow from keys: for orders that need no state. Pure functions; any thread may
// call. Their results are part of what a run means: they are the same in every version.
#pragma once

#include <cstdint>

namespace gp::engine {

// SplitMix64's finaliser (Steele, Lea, Flood 2014, doi:10.1145/2714064.2660195): a bijection whose
// every output bit depends on every input bit.
uint64_t MixBits(uint64_t value);

// Where the `index`-th of `count` things stands in a shuffled order: for each key a permutation of
// [0, count), computed without a table by a Feistel network that is walked until it lands inside
// (Black and Rogaway 2002, doi:10.1007/3-540-45760-7_9). REQUIRES: 0 <= index < count.
int64_t ShuffledIndex(uint64_t key, int64_t index, int64_t count);

}  // namespace gp::engine
