// The text of a .tiktoken file: on each line a token in base64, a space and its rank, which is its
// id. Pure function; any thread may call. The format: docs/formats/tokenizers.md.
#pragma once

#include <string_view>

#include "base/status.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {

// <|endoftext|>, which the file does not have, gets the id after the last one, or the id that is
// left out before runs of spaces. No text becomes an empty token. tiktoken joins any two neighbours
// whose bytes together are a token, the smallest rank first. So each token has one merge: the last
// join when its own bytes are merged. InvalidArgument names the line, or the token that earlier
// ones cannot make.
StatusOr<BytePairVocabulary> ParseTiktoken(std::string_view text);

}  // namespace gp
