// A shuffled order that needs no state: it follows from a key. A pure function; any thread may
// call. Its results are part of what a run means: they are the same in every version.
#pragma once

#include <cstdint>

namespace gp::engine {

// Where the `index`-th of `count` things stands in a shuffled order: for each key a permutation of
// [0, count), computed without a table by a Feistel network that is walked until it lands inside
// (Black and Rogaway 2002, doi:10.1007/3-540-45760-7_9). REQUIRES: 0 <= index < count.
int64_t ShuffledIndex(uint64_t key, int64_t index, int64_t count);

}  // namespace gp::engine
