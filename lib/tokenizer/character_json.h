// A tokenizer of characters as Hugging Face's tokenizer.json: a BPE with one token for each
// character, without merges; the whole text is one piece. Pure functions; any thread may call.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "tokenizer/char_tokenizer.h"

namespace gp {

std::string FormatCharacterJson(const CharTokenizer& tokenizer);

// Whether a tokenizer.json is of this kind: no pre-tokenizer, no merges, a Fuse decoder.
bool IsCharacterJson(const nlohmann::json& document);

// REQUIRES: IsCharacterJson. InvalidArgument names the token whose id breaks the order of the
// characters.
StatusOr<std::unique_ptr<CharTokenizer>> ReadCharacterJson(const nlohmann::json& document);

}  // namespace gp
