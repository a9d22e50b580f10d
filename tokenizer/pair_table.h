// Which two neighbouring tokens join into which: a hash table from pairs of ids to the id of the
// token whose bytes are theirs. Filled once, then constant; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gp {

class PairTable {
 public:
  // Larger than every token's id.
  static constexpr int32_t kNone = INT32_MAX;

  PairTable();

  // REQUIRES: the pair is not there yet.
  void Add(int32_t left, int32_t right, int32_t joined);

  // The id of left + right, or kNone.
  int32_t Find(int32_t left, int32_t right) const {
    const uint64_t key = KeyOf(left, right);
    for (size_t i = SlotOf(key);; ++i) {
      const Entry& entry = entries_[i & mask_];
      if (entry.key == key) return entry.joined;
      if (entry.joined == kNone) return kNone;
    }
  }

 private:
  struct Entry {
    uint64_t key = 0;
    int32_t joined = kNone;  // kNone: free
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
