#include "tokenizer/pair_table.h"

#include <bit>
#include <utility>

namespace gp {

PairTable::PairTable() : entries_(1024), mask_(entries_.size() - 1), shift_(64 - 10) {}

bool PairTable::Add(int32_t left, int32_t right, Join join) {
  if (Find(left, right) != kNoJoin) return false;
  if (2 * ++count_ > entries_.size()) Grow();
  Put({KeyOf(left, right), join});
  return true;
}

void PairTable::Put(const Entry& entry) {
  size_t i = SlotOf(entry.key);
  while (entries_[i & mask_].join != kNoJoin) ++i;
  entries_[i & mask_] = entry;
}

void PairTable::Grow() {
  const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
  mask_ = entries_.size() - 1;
  shift_ = 64 - std::countr_zero(entries_.size());
  for (const Entry& entry : old) {
    if (entry.join != kNoJoin) Put(entry);
  }
}

}  // namespace gp
