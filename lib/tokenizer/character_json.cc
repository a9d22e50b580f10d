#include "tokenizer/character_json.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"
#include "formats/strict_json.h"
#include "tokenizer/text_pipeline.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

}  // namespace

std::string FormatCharacterJson(const CharTokenizer& tokenizer) {
  std::string vocab;
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const Json character = tokenizer.Decode({&id, 1});
    vocab += fmt::format("{}{}:{}", id == 0 ? "" : ",",
                         character.dump(-1, ' ', false, Json::error_handler_t::replace), id);
  }
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],)"
      R"("normalizer":null,"pre_tokenizer":null,"post_processor":null,)"
      R"("decoder":{{"type":"Fuse"}},)"
      R"("model":{{"type":"BPE","dropout":null,"unk_token":null,)"
      R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
      R"("byte_fallback":false,"ignore_merges":false,"vocab":{{{}}},"merges":[]}}}})",
      vocab);
}

bool IsCharacterJson(const Json& document) {
  static const Json kFuse = {{"type", "Fuse"}};
  for (const char* key : {"pre_tokenizer", "normalizer"}) {
    if (!ValueOrNull(document, key).is_null()) return false;
  }
  if (!AddsNoTokens(ValueOrNull(document, "post_processor"))) return false;
  const Json& model = ValueOrNull(document, "model");
  return ValueOrNull(document, "added_tokens").empty() &&
         ValueOrNull(document, "decoder") == kFuse && model.is_object() &&
         ValueOrNull(model, "type") == "BPE" && ValueOrNull(model, "merges") == Json::array() &&
         ValueOrNull(model, "vocab").is_object();
}

// JSON objects are sorted by their keys' bytes, which is code point order.
StatusOr<std::unique_ptr<CharTokenizer>> ReadCharacterJson(const Json& document) {
  std::vector<char32_t> characters;
  for (const auto& [token, id] : document.at("model").at("vocab").items()) {
    std::string_view text = token;
    const auto character = TakeCodePoint(text);
    if (!character || !text.empty() || id != characters.size()) {
      return InvalidArgument(
          "model.vocab: expected single characters, numbered in the order of their code points; "
          "found '{}' with the id {} at position {}",
          Excerpt(token), Excerpt(id.dump(-1, ' ', false, Json::error_handler_t::replace)),
          characters.size());
    }
    characters.push_back(*character);
  }
  if (characters.empty()) return InvalidArgument("model.vocab is empty");
  return std::make_unique<CharTokenizer>(std::move(characters));
}

}  // namespace gp
