#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/excerpt.h"
#include "formats/sha256.h"
#include "formats/strict_json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/character_json.h"
#include "tokenizer/tokenizer_json.h"

namespace gp {
namespace {

using Json = nlohmann::json;

StatusOr<std::unique_ptr<Tokenizer>> ParseChars(const Json& json) {
  const auto characters = json.find("characters");
  if (characters == json.end() || !characters->is_array() || characters->empty() ||
      characters->size() > 0x110000) {
    return InvalidArgument("the chars tokenizer has no list of characters");
  }
  std::vector<char32_t> list;
  for (const Json& value : *characters) {
    const bool good = value.is_number_unsigned() && value.get<uint64_t>() <= 0x10ffff &&
                      (list.empty() || value.get<char32_t>() > list.back());
    if (!good)
      return InvalidArgument("the chars tokenizer's characters are not sorted code points");
    list.push_back(value.get<char32_t>());
  }
  return std::make_unique<CharTokenizer>(std::move(list));
}

StatusOr<std::unique_ptr<Tokenizer>> ParseCharacterJson(const Json& json, const AddedTokens& more) {
  if (more.empty()) return ReadCharacterJson(json);
  return InvalidArgument(
      "{}: '{}' is not a character: a tokenizer of characters has no other tokens", more[0].where,
      Excerpt(more[0].text));
}

StatusOr<std::unique_ptr<Tokenizer>> ParseGpt2(const Json& json) {
  const auto merges = json.find("merges");
  if (merges == json.end() || !merges->is_string()) {
    return InvalidArgument("the gpt2 tokenizer has no merges");
  }
  return BytePairTokenizer::FromMerges(merges->get_ref<const std::string&>());
}

StatusOr<std::unique_ptr<Tokenizer>> ParseKind(const Json& json, const AddedTokens& more) {
  if (IsCharacterJson(json)) return ParseCharacterJson(json, more);
  if (json.contains("model")) {
    ASSIGN_OR_RETURN(BytePairVocabulary vocabulary, ReadTokenizerJson(json, more));
    return MakeBytePairTokenizer(std::move(vocabulary));
  }
  const auto kind = json.find("kind");
  if (kind == json.end() || !kind->is_string()) {
    return InvalidArgument(
        "this is not a tokenizer: it has neither Hugging Face's 'model' nor gp's 'kind'");
  }
  if (*kind == "bytes") return std::make_unique<ByteTokenizer>();
  if (*kind == "chars") return ParseChars(json);
  if (*kind == "gpt2") return ParseGpt2(json);
  return InvalidArgument("unknown tokenizer kind '{}'; expected bytes, chars or gpt2",
                         kind->get<std::string>());
}

}  // namespace

std::string Tokenizer::Fingerprint() const { return formats::Sha256Hex(Identity()); }

std::string Tokenizer::NamedEndOfText() const {
  const auto by_spelling = ParseTokenizer(Identity());
  if (!by_spelling.ok() || (*by_spelling)->end_of_text() == end_of_text()) return "";
  return end_of_text() ? fmt::format(", end of text {}", *end_of_text()) : ", no end of text";
}

StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view serialized) {
  return ParseTokenizer(serialized, {});
}

StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view serialized,
                                                    const AddedTokens& more) {
  ASSIGN_OR_RETURN(const Json json, formats::ParseJsonObject(serialized));
  ASSIGN_OR_RETURN(auto tokenizer, ParseKind(json, more));
  const Json& model = json.contains("model") ? json["model"] : json;
  const Json& special = formats::ValueOrNull(model, "special_tokens");
  if (special.is_null()) return tokenizer;
  ASSIGN_OR_RETURN(SpecialTokens tokens, ReadSpecialTokens(special, tokenizer->vocabulary_size()));
  tokenizer->set_special_tokens(std::move(tokens));
  return tokenizer;
}

}  // namespace gp
