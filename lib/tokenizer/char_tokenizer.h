// Characters as tokens: the distinct code points of a text, sorted, as nanoGPT's character models
// number them.
#pragma once

#include <unordered_map>

#include "tokenizer/tokenizer.h"

namespace gp {

class CharTokenizer : public Tokenizer {
 public:
  // The characters of `text`. InvalidArgument when it is empty or not UTF-8; the message has the
  // offset.
  static StatusOr<std::unique_ptr<CharTokenizer>> FromText(std::string_view text);
  // REQUIRES: sorted, distinct, not empty.
  explicit CharTokenizer(std::vector<char32_t> characters);

  std::string_view kind() const override { return "chars"; }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(characters_.size()); }
  StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override;
  size_t CutAfter(std::string_view text, size_t begin) const override;
  std::string Decode(std::span<const int32_t> tokens) const override;
  std::string Serialized() const override;

 private:
  std::string Identity() const override;

  std::vector<char32_t> characters_;  // by id
  std::unordered_map<char32_t, int32_t> ids_;
};

}  // namespace gp
