#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text/excerpt.h"
#include "formats/strict_json.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

std::string ShowValue(const Json& value) {
  return Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

StatusOr<bool> ReadFlag(const Json& token, const char* key) {
  const Json& value = ValueOrNull(token, key);
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  return InvalidArgument("{} is {}, expected true or false", key, ShowValue(value));
}

StatusOr<AddedToken> ReadListed(const Json& token, const std::string& where) {
  auto read = ReadAddedToken(token);
  if (!read.ok()) return WithContext(read.status(), where);
  const auto id = ReadTokenId(ValueOrNull(token, "id"), read->text);
  if (!id.ok()) return WithContext(id.status(), where);
  read->id = *id;
  read->where = where;
  return read;
}

std::optional<int64_t> IdIn(const Json& vocab, const std::string& text) {
  const auto found = vocab.find(text);
  if (found == vocab.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

Status CheckSpecial(const AddedToken& token) {
  if (token.special) return OkStatus();
  return InvalidArgument(
      "{}: '{}' is not special: Hugging Face would match it in any text, but gp would not; if no "
      "text has it, mark it as special: in tokenizer.json or added_tokens_decoder with "
      "\"special\": true, beside an added_tokens.json in \"additional_special_tokens\" of "
      "special_tokens_map.json",
      token.where, Excerpt(token.text));
}

Status OtherId(const AddedToken& token, int64_t expected) {
  return InvalidArgument(
      "{}: '{}' has the id {}, expected {}: ids must continue those of the vocabulary without a "
      "gap; name a token, such as '<unused{}>', for each id that is left out",
      token.where, Excerpt(token.text), *token.id, expected, expected);
}

// Adds what another list says about the same token.
Status AddTo(AddedToken& token, const AddedToken& more) {
  if (token.id && more.id && *token.id != *more.id) {
    return InvalidArgument("{}: '{}' has the id {}, but {} in {}", more.where, Excerpt(token.text),
                           *more.id, *token.id, token.where);
  }
  if (!token.id) token.id = more.id;
  if (!token.flags || more.overrides_flags) token.flags = more.flags;
  token.special |= more.special;
  return OkStatus();
}

// Whether the files list <|endoftext|>. If not, transformers adds it by itself, with an id that its
// tokenizer class decides.
bool HasEndOfText(const Json& vocab, const AddedTokens& tokens) {
  return vocab.contains(kEndOfText) ||
         std::any_of(tokens.begin(), tokens.end(),
                     [](const AddedToken& token) { return token.id && token.text == kEndOfText; });
}

}  // namespace

StatusOr<int64_t> ReadTokenId(const Json& value, std::string_view token) {
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() <= BytePairVocabularyBuilder::kTokensMax) {
    return value.get<int64_t>();
  }
  return InvalidArgument("the id of '{}' is {}, expected a whole number of at most {}",
                         Excerpt(token), ShowValue(value), BytePairVocabularyBuilder::kTokensMax);
}

// Ignores the key `normalized`: it decides whether the token is searched before or after the
// normalizer, which gp's tokenizers do not have.
StatusOr<AddedToken> ReadAddedToken(const Json& token) {
  if (!token.is_object()) return InvalidArgument("is not an object");
  const Json& content = ValueOrNull(token, "content");
  if (!content.is_string() || content.get_ref<const std::string&>().empty()) {
    return InvalidArgument("content is {}, expected the token's text", ShowValue(content));
  }
  AddedToken read;
  read.text = content.get<std::string>();
  ASSIGN_OR_RETURN(read.special, ReadFlag(token, "special"));
  SpecialTokenFlags flags;
  ASSIGN_OR_RETURN(flags.single_word, ReadFlag(token, "single_word"));
  ASSIGN_OR_RETURN(flags.lstrip, ReadFlag(token, "lstrip"));
  ASSIGN_OR_RETURN(flags.rstrip, ReadFlag(token, "rstrip"));
  read.flags = flags;
  return read;
}

StatusOr<AddedTokens> ReadAddedTokenList(const Json& list) {
  AddedTokens tokens;
  std::set<std::string> texts;
  if (list.is_null()) return tokens;
  if (!list.is_array()) return InvalidArgument("added_tokens is not a list");
  for (size_t i = 0; i < list.size(); ++i) {
    ASSIGN_OR_RETURN(AddedToken token, ReadListed(list[i], fmt::format("added_tokens[{}]", i)));
    if (!texts.insert(token.text).second) {
      return InvalidArgument("{}: '{}' occurs twice", token.where, Excerpt(token.text));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Status AddTokens(const AddedTokens& more, AddedTokens& tokens) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < tokens.size(); ++i) places.emplace(tokens[i].text, i);
  for (const AddedToken& token : more) {
    const auto [place, is_new] = places.emplace(token.text, tokens.size());
    if (is_new) {
      tokens.push_back(token);
    } else {
      RETURN_IF_ERROR(AddTo(tokens[place->second], token));
    }
  }
  return OkStatus();
}

Status NumberTokens(const Json& vocab, AddedTokens& tokens) {
  const bool numbers_are_known = HasEndOfText(vocab, tokens);
  auto next = static_cast<int64_t>(vocab.size());
  const auto missing = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& token) {
    return token.added_below && !token.id && !IdIn(vocab, token.text);
  });
  std::optional<AddedToken> last;
  if (missing != tokens.end()) {
    last = *missing;
    tokens.erase(missing);
  }
  for (AddedToken& token : tokens) {
    RETURN_IF_ERROR(CheckSpecial(token));
    const auto own = IdIn(vocab, token.text);
    if (!own && !token.id && !numbers_are_known) {
      return InvalidArgument("{}: '{}' has no id: write it into added_tokens.json with its id",
                             token.where, Excerpt(token.text));
    }
    const int64_t expected = own ? *own : next++;
    if (token.id.value_or(expected) != expected) return OtherId(token, expected);
    token.id = expected;
  }
  if (!last || next >= *last->added_below) return OkStatus();
  last->id = next;
  tokens.push_back(*std::move(last));
  return OkStatus();
}

}  // namespace gp
