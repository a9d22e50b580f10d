// AddedToken: a token that Hugging Face adds to a vocabulary and searches in text before it splits
// the rest. Values and pure functions; any thread may call. Where they are listed:
// docs/formats/tokenizers.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {

struct AddedToken {
  std::string text;
  std::optional<int64_t> id;  // nullopt: the vocabulary's, or the next free one
  bool special = false;
  std::optional<SpecialTokenFlags> flags;  // nullopt: the list has none
  // If set and the vocabulary lacks the token: the token gets the next id if that is below this,
  // and is left out otherwise.
  std::optional<int64_t> added_below;
  bool overrides_flags = false;  // `flags` win over those of an earlier list
  std::string where;             // "added_tokens[2]", for messages
};
using AddedTokens = std::vector<AddedToken>;

// {"content": "<pad>", "special": true, …}: as transformers and tokenizers write it, without its
// id.
StatusOr<AddedToken> ReadAddedToken(const nlohmann::json& token);

// `added_tokens` of a tokenizer.json, in the order of the file. Errors name the place in the list.
StatusOr<AddedTokens> ReadAddedTokenList(const nlohmann::json& list);

// Merges `more` into `tokens`; both may list the same token. Entries of `tokens` win, except that
// flags with overrides_flags replace theirs; missing values are added. InvalidArgument when a token
// gets two ids.
Status AddTokens(const AddedTokens& more, AddedTokens& tokens);

// Gives ids to the tokens that have none. Tokens that `vocab` (tokens and their ids) lacks get the
// ids after it, in their order, as in Hugging Face. InvalidArgument names a token that has another
// id, or that is not special.
Status NumberTokens(const nlohmann::json& vocab, AddedTokens& tokens);

// The id of `token` in a JSON file.
StatusOr<int64_t> ReadTokenId(const nlohmann::json& value, std::string_view token);

}  // namespace gp
