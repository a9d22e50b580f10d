#include "tokenizer/byte_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gp {

StatusOr<std::vector<int32_t>> ByteTokenizer::Encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

size_t ByteTokenizer::CutAfter(std::string_view text, size_t begin) const {
  return std::min(std::max<size_t>(begin, 1), text.size());
}

std::string ByteTokenizer::Decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    if (token >= 0 && token < 256) {
      text.push_back(static_cast<char>(token));
    } else {
      text += "\xef\xbf\xbd";
    }
  }
  return text;
}

std::string ByteTokenizer::Serialized() const {
  nlohmann::ordered_json json = {{"kind", "bytes"}};
  if (special_tokens() != SpecialTokens()) {
    json["special_tokens"] = SpecialTokensJson(special_tokens());
  }
  return json.dump();
}

std::string ByteTokenizer::Identity() const { return R"({"kind":"bytes"})"; }

}  // namespace gp
