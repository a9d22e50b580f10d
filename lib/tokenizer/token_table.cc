#include "tokenizer/token_table.h"

#include <bit>
#include <utility>

namespace gp {

TokenTable::TokenTable() : entries_(1024), mask_(entries_.size() - 1), shift_(64 - 10) {}

bool TokenTable::Add(std::string_view bytes, int32_t id) {
  if (Find(bytes) != kNone) return false;
  if (bytes.size() > PieceKey::kBytesMax) {
    long_.emplace(bytes, id);
    return true;
  }
  if (2 * ++count_ > entries_.size()) Grow();
  Put({KeyOf(bytes, bytes.size()), id});
  return true;
}

int32_t TokenTable::FindLong(std::string_view bytes) const {
  const auto found = long_.find(bytes);
  return found == long_.end() ? kNone : found->second;
}

void TokenTable::Put(const Entry& entry) {
  size_t i = entry.key.Hash() >> shift_;
  while (entries_[i & mask_].id != kNone) ++i;
  entries_[i & mask_] = entry;
}

void TokenTable::Grow() {
  const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
  mask_ = entries_.size() - 1;
  shift_ = 64 - std::countr_zero(entries_.size());
  for (const Entry& entry : old) {
    if (entry.id != kNone) Put(entry);
  }
}

}  // namespace gp
