// A shuffled order that needs no state: it depends only on a key. A pure function; any thread may
// call. Runs depend on its results, which are the same in every version.
#pragma once

#include <cstdint>

namespace gp::engine {

// The position of the `index`-th of `count` things in a shuffled order: for each key a permutation
// of [0, count), computed without a table by cycle walking over a Feistel network (Black and
// Rogaway 2002, doi:10.1007/3-540-45760-7_9). REQUIRES: 0 <= index < count.
int64_t ShuffledIndex(uint64_t key, int64_t index, int64_t count);

}  // namespace gp::engine
