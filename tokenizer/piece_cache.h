// The tokens of pieces that were encoded before: natural text repeats its words. A piece's bytes
// are its key and lie in the entry, so a hit is two comparisons; a later piece of the same slot
// replaces it. One thread calls.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace gp {

class PieceCache {
 public:
  // Longer pieces, and pieces of more tokens, are not kept.
  static constexpr size_t kBytesMax = 15;
  static constexpr size_t kTokensMax = 3;

  struct Entry {
    std::array<uint64_t, 2> key{};  // the bytes, zeros, and the length in the last; 0: free
    std::array<int32_t, kTokensMax> tokens{};
    uint32_t count = 0;

    std::span<const int32_t> found() const { return {tokens.data(), count}; }
  };

  // For a text of that many bytes.
  explicit PieceCache(size_t text_bytes)
      : entries_(std::bit_ceil(std::clamp<size_t>(text_bytes / 16, 16, size_t{1} << 15))),
        shift_(64 - std::countr_zero(entries_.size())) {}

  // Where the piece's tokens are, or belong. `readable` >= piece.size() bytes may be read at its
  // start. REQUIRES: 1 to kBytesMax bytes.
  Entry& SlotOf(std::string_view piece, size_t readable, std::array<uint64_t, 2>& key) {
    key = KeyOf(piece, readable);
    const uint64_t mixed = (key[0] ^ std::rotl(key[1], 29)) * 0x9e3779b97f4a7c15;
    return entries_[mixed >> shift_];
  }

 private:
  static std::array<uint64_t, 2> KeyOf(std::string_view piece, size_t readable) {
    std::array<uint64_t, 2> key{};
    const size_t size = piece.size();
    if (readable < 16) {
      std::memcpy(key.data(), piece.data(), size);
    } else {
      std::memcpy(key.data(), piece.data(), 16);
      const int unused = static_cast<int>(8 * (size % 8));
      const uint64_t kept = (uint64_t{1} << unused) - 1;  // of the word in which the piece ends
      if (size < 8)
        key = {key[0] & kept, 0};
      else
        key[1] &= kept;
    }
    key[1] |= uint64_t{size} << 56;
    return key;
  }

  std::vector<Entry> entries_;
  int shift_;
};

}  // namespace gp
