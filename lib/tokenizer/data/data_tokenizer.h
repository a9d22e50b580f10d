// The tokenizer of a run: the meaning of data.tokenizer for its text or token shards. Any thread
// may call.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// `kind` is data.tokenizer: bytes, chars, gpt2 or a path; a chars tokenizer learns the characters
// of `text`. Errors about a path name the key.
StatusOr<std::unique_ptr<Tokenizer>> MakeTextTokenizer(const std::string& kind,
                                                       std::string_view text);

// Makes the tokenizer for a run on token files. A chars tokenizer is read from nanoGPT's meta.pkl
// in the folder of `first_shard`, the run's first file of training tokens.
StatusOr<std::unique_ptr<Tokenizer>> MakeShardTokenizer(const std::string& kind,
                                                        const std::string& first_shard);

}  // namespace gp
