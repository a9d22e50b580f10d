// Properties that every tokenizer read from a file must have. Thread-safe.
#pragma once

#include <string_view>
#include <utility>

#include "base/check.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// Checks a tokenizer that was read, or that the error has a message.
inline void CheckPromises(const StatusOr<std::unique_ptr<Tokenizer>>& read, std::string_view text) {
  if (!read.ok()) {
    GP_CHECK(!read.status().message().empty());
    return;
  }
  const Tokenizer& tokenizer = **read;
  const auto back = ParseTokenizer(tokenizer.Serialized());
  GP_CHECK(back.ok() && (*back)->Fingerprint() == tokenizer.Fingerprint());
  GP_CHECK((*back)->vocabulary_size() == tokenizer.vocabulary_size());
  const auto tokens = tokenizer.Encode(text);
  if (!tokens.ok()) return;
  for (const int32_t token : *tokens) {
    GP_CHECK(token >= 0 && token < tokenizer.vocabulary_size());
    GP_CHECK(token != tokenizer.end_of_text());
  }
  GP_CHECK(tokenizer.Decode(*tokens) == text);
  GP_CHECK(*(*back)->Encode(text) == *tokens);
}

}  // namespace gp
