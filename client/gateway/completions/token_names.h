// The names of tokens in logprobs. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace gp::gateway {

// The token's text; if its bytes are not whole characters, "bytes:\xe2\x80", as OpenAI writes it.
std::string TokenName(const Tokenizer& tokenizer, int32_t id);

}  // namespace gp::gateway
