// PairTable: a hash table from a pair of neighbouring tokens to their join: the token that they
// become and its rank. Filled once, then constant; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gp {

// A join's rank (smaller ranks go first) in the upper bits and the id of the joined token in the
// lower ones.
using Join = uint64_t;

// The value for a pair that has no join. It is larger than every Join.
inline constexpr Join kNoJoin = UINT64_MAX;

inline Join MakeJoin(int32_t rank, int32_t joined) {
  return uint64_t{static_cast<uint32_t>(rank)} << 32 | static_cast<uint32_t>(joined);
}

inline int32_t JoinedToken(Join join) { return static_cast<int32_t>(static_cast<uint32_t>(join)); }

class PairTable {
 public:
  PairTable();

  // False, without a change, if the pair exists already.
  bool Add(int32_t left, int32_t right, Join join);

  // How left and right join, or kNoJoin.
  Join Find(int32_t left, int32_t right) const {
    const uint64_t key = KeyOf(left, right);
    for (size_t i = SlotOf(key);; ++i) {
      const Entry& entry = entries_[i & mask_];
      if (entry.key == key || entry.join == kNoJoin) return entry.join;
    }
  }

 private:
  struct Entry {
    uint64_t key = UINT64_MAX;  // the key of no pair: ids are never negative
    Join join = kNoJoin;        // kNoJoin: free
  };

  static uint64_t KeyOf(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  // Fibonacci hashing (Knuth, TAOCP 3, 6.4).
  size_t SlotOf(uint64_t key) const { return (key * 0x9e3779b97f4a7c15) >> shift_; }
  void Put(const Entry& entry);
  void Grow();

  std::vector<Entry> entries_;  // a power of two of them, at most half full
  size_t mask_ = 0;
  int shift_ = 0;
  size_t count_ = 0;
};

}  // namespace gp
