// Maps the bytes of a token to its id. Short tokens, which nearly all are, are stored in the table
// itself. Filled once, then constant; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/piece_key.h"

namespace gp {

class TokenTable {
 public:
  static constexpr int32_t kNone = -1;

  TokenTable();

  // False, without a change, if the bytes exist already. REQUIRES: not empty.
  bool Add(std::string_view bytes, int32_t id);

  // The id, or kNone. `bytes` are not empty.
  int32_t Find(std::string_view bytes) const {
    return bytes.size() <= PieceKey::kBytesMax ? Find(KeyOf(bytes, bytes.size())) : FindLong(bytes);
  }

  int32_t Find(const PieceKey& key) const {
    for (size_t i = key.Hash() >> shift_;; ++i) {
      const Entry& entry = entries_[i & mask_];
      if (entry.key == key) return entry.id;
      if (entry.id == kNone) return kNone;
    }
  }

 private:
  struct Entry {
    PieceKey key;
    int32_t id = kNone;  // kNone: free
  };
  // Looks bytes up without copying them.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  int32_t FindLong(std::string_view bytes) const;
  void Put(const Entry& entry);
  void Grow();

  std::vector<Entry> entries_;  // a power of two of them, at most half full
  size_t mask_ = 0;
  int shift_ = 0;
  size_t count_ = 0;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> long_;
};

}  // namespace gp
