#include "tokenizer/special_tokens.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text/excerpt.h"
#include "formats/strict_json.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

// The spellings of the end-of-text token, the preferred ones first.
constexpr std::string_view kEndSpellings[] = {kEndOfText, "</s>",    "[EOS]",           "<eos>",
                                              "<|eos|>",  "<|EOS|>", "<|end_of_text|>", "<EOS>"};

constexpr std::pair<const char*, std::optional<int32_t> SpecialTokens::*> kRoles[] = {
    {"bos", &SpecialTokens::bos},
    {"eos", &SpecialTokens::eos},
    {"pad", &SpecialTokens::pad},
    {"unk", &SpecialTokens::unk},
    {"model_bos", &SpecialTokens::model_bos},
    {"model_pad", &SpecialTokens::model_pad}};

StatusOr<int32_t> ReadId(const Json& value, const char* key, int64_t vocabulary) {
  if (value.is_number_unsigned() && value.get<uint64_t>() < static_cast<uint64_t>(vocabulary)) {
    return value.get<int32_t>();
  }
  return InvalidArgument("special_tokens.{} is {}, expected an id below {}", key,
                         Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)),
                         vocabulary);
}

}  // namespace

SpecialTokens SpecialTokensBySpelling(std::span<const std::string> tokens,
                                      std::span<const int32_t> special) {
  for (const std::string_view spelling : kEndSpellings) {
    for (const int32_t id : special) {
      if (tokens[static_cast<size_t>(id)] != spelling) continue;
      // Documents begin after it, so it is bos too. In GPT-2 it is also the unknown token.
      SpecialTokens found{.bos = id, .eos = id, .model_bos = id, .model_eos = {id}};
      if (spelling == kEndOfText) found.unk = id;
      return found;
    }
  }
  return {};
}

nlohmann::ordered_json SpecialTokensJson(const SpecialTokens& tokens) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, role] : kRoles) {
    if (tokens.*role) json[key] = *(tokens.*role);
  }
  json["model_eos"] = tokens.model_eos;
  if (tokens.eos_is_guess) json["eos_is_guess"] = true;
  if (tokens.split_in_text) json["split_in_text"] = true;
  return json;
}

StatusOr<SpecialTokens> ReadSpecialTokens(const Json& json, int64_t vocabulary) {
  if (!json.is_object()) return InvalidArgument("special_tokens is not an object");
  SpecialTokens tokens;
  for (const auto& [key, role] : kRoles) {
    const Json& value = ValueOrNull(json, key);
    if (value.is_null()) continue;
    ASSIGN_OR_RETURN(tokens.*role, ReadId(value, key, vocabulary));
  }
  tokens.eos_is_guess = ValueOrNull(json, "eos_is_guess") == true;
  tokens.split_in_text = ValueOrNull(json, "split_in_text") == true;
  const Json& ends = ValueOrNull(json, "model_eos");
  if (!ends.is_array()) return InvalidArgument("special_tokens.model_eos is not a list");
  for (const Json& value : ends) {
    ASSIGN_OR_RETURN(const int32_t id, ReadId(value, "model_eos", vocabulary));
    tokens.model_eos.push_back(id);
  }
  return tokens;
}

}  // namespace gp
