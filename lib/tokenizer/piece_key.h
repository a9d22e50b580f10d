// A short piece's bytes as two words, so that pieces are compared and hashed without loops. Pure
// functions; thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gp {

// The piece's bytes, padded with zeros; the last byte is their number. Keys are equal exactly when
// the pieces are. All zero: no piece.
struct PieceKey {
  static constexpr size_t kBytesMax = 15;

  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const PieceKey&) const = default;
  uint64_t Hash() const { return (low ^ std::rotl(high, 29)) * 0x9e3779b97f4a7c15; }
};

// `readable` bytes, at least piece.size(), may be read from piece.data() on. REQUIRES: 1 to
// kBytesMax bytes.
inline PieceKey KeyOf(std::string_view piece, size_t readable) {
  const size_t size = piece.size();
  uint64_t words[2] = {};
  if (readable < sizeof words) {
    std::memcpy(words, piece.data(), size);
  } else {
    std::memcpy(words, piece.data(), sizeof words);
    // Mask of the piece's bytes in the word where the piece ends.
    const uint64_t kept = (uint64_t{1} << 8 * (size % 8)) - 1;
    words[0] &= size < 8 ? kept : ~uint64_t{0};
    words[1] &= size < 8 ? 0 : kept;
  }
  return {words[0], words[1] | uint64_t{size} << 56};
}

}  // namespace gp
