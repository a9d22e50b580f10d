// PieceCache: the tokens of pieces that were encoded before, because natural text repeats its
// words. A piece whose hash gives the same slot replaces the earlier one. One thread calls.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/piece_key.h"

namespace gp {

class PieceCache {
 public:
  // Pieces of more tokens than this are not cached.
  static constexpr size_t kTokensMax = 3;

  // Makes the cache large enough for a text of `text_bytes` bytes.
  explicit PieceCache(size_t text_bytes)
      : entries_(std::bit_ceil(std::clamp<size_t>(text_bytes / 16, 16, size_t{1} << 15))),
        shift_(64 - std::countr_zero(entries_.size())) {}

  // Empty when the piece is not cached.
  std::span<const int32_t> Find(const PieceKey& key) const {
    const Entry& entry = entries_[key.Hash() >> shift_];
    return {entry.tokens.data(), entry.key == key ? entry.count : 0};
  }

  void Put(const PieceKey& key, std::span<const int32_t> tokens) {
    if (tokens.size() > kTokensMax) return;
    Entry& entry = entries_[key.Hash() >> shift_];
    entry.key = key;
    entry.count = static_cast<uint32_t>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), entry.tokens.begin());
  }

 private:
  struct Entry {
    PieceKey key;
    std::array<int32_t, kTokensMax> tokens{};
    uint32_t count = 0;
  };

  std::vector<Entry> entries_;
  int shift_;
};

}  // namespace gp
