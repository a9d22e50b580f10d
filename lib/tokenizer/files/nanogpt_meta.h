// nanoGPT's meta.pkl: the character of each id in its token shards. It is a Python pickle; reading
// it never executes code. Any thread may call.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "tokenizer/char_tokenizer.h"

namespace gp {

// The tokenizer that the dictionary "itos" (id to character) in the file describes. NotFound, or
// InvalidArgument with the file, the place and what was expected.
StatusOr<std::unique_ptr<CharTokenizer>> ReadNanoGptMeta(const std::string& path);

}  // namespace gp
