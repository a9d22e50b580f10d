// Bytes as tokens: id = byte value, 256 ids, every text can be encoded.
#pragma once

#include "tokenizer/tokenizer.h"

namespace gp {

class ByteTokenizer : public Tokenizer {
 public:
  std::string_view kind() const override { return "bytes"; }
  int64_t vocabulary_size() const override { return 256; }
  StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override;
  size_t CutAfter(std::string_view text, size_t begin) const override;
  std::string Decode(std::span<const int32_t> tokens) const override;
  std::string Serialized() const override;

 private:
  std::string Identity() const override;
};

}  // namespace gp
