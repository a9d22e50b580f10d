#include "tokenizer/char_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/text/utf8.h"

namespace gp {
namespace {

Status NotUtf8(std::string_view text, std::string_view rest) {
  return InvalidArgument(
      "the text is not UTF-8: byte 0x{:02x} at byte offset {} does not start a character; use "
      "data.tokenizer: bytes",
      static_cast<unsigned char>(rest[0]), text.size() - rest.size());
}

std::string Show(char32_t character) {
  std::string text;
  AppendCodePoint(character, text);
  return fmt::format("'{}' (U+{:04X})", text, static_cast<uint32_t>(character));
}

nlohmann::ordered_json Characters(const std::vector<char32_t>& characters) {
  nlohmann::ordered_json json = {{"kind", "chars"}, {"characters", nlohmann::json::array()}};
  for (const char32_t character : characters) {
    json["characters"].push_back(static_cast<uint32_t>(character));
  }
  return json;
}

}  // namespace

StatusOr<std::unique_ptr<CharTokenizer>> CharTokenizer::FromText(std::string_view text) {
  if (text.empty()) return InvalidArgument("an empty text has no characters to learn");
  std::set<char32_t> characters;
  for (std::string_view rest = text; !rest.empty();) {
    const auto character = TakeCodePoint(rest);
    if (!character) return NotUtf8(text, rest);
    characters.insert(*character);
  }
  return std::make_unique<CharTokenizer>(
      std::vector<char32_t>(characters.begin(), characters.end()));
}

CharTokenizer::CharTokenizer(std::vector<char32_t> characters)
    : characters_(std::move(characters)) {
  GP_CHECK(!characters_.empty() && std::is_sorted(characters_.begin(), characters_.end()));
  for (size_t i = 0; i < characters_.size(); ++i) {
    ids_.emplace(characters_[i], static_cast<int32_t>(i));
  }
  GP_CHECK(ids_.size() == characters_.size());
}

StatusOr<std::vector<int32_t>> CharTokenizer::Encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  tokens.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const auto character = TakeCodePoint(rest);
    if (!character) return NotUtf8(text, rest);
    const auto id = ids_.find(*character);
    if (id == ids_.end()) {
      return InvalidArgument(
          "the character {} at character offset {} does not occur in the training "
          "text",
          Show(*character), tokens.size());
    }
    tokens.push_back(id->second);
  }
  return tokens;
}

size_t CharTokenizer::CutAfter(std::string_view text, size_t begin) const {
  size_t cut = std::max<size_t>(begin, 1);
  while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) ++cut;
  return std::min(cut, text.size());
}

std::string CharTokenizer::Decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    const bool known = token >= 0 && token < vocabulary_size();
    AppendCodePoint(known ? characters_[static_cast<size_t>(token)] : 0xfffd, text);
  }
  return text;
}

std::string CharTokenizer::Serialized() const {
  nlohmann::ordered_json json = Characters(characters_);
  if (special_tokens() != SpecialTokens()) {
    json["special_tokens"] = SpecialTokensJson(special_tokens());
  }
  return json.dump();
}

std::string CharTokenizer::Identity() const { return Characters(characters_).dump(); }

}  // namespace gp
