// Encodes a long text on several threads, in parts that are cut where the tokenizer allows. Pure
// function; any thread may call.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// Equal to tokenizer.Encode(text), errors and exceptions included. Parts have `part_bytes` or a
// little more. Works with fewer threads if the system refuses some.
StatusOr<std::vector<int32_t>> EncodeInParallel(const Tokenizer& tokenizer, std::string_view text,
                                                int threads, size_t part_bytes = 1 << 20);

}  // namespace gp
