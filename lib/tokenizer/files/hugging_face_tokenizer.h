// The tokenizer files of a Hugging Face directory, which transformers and tokenizers load, with the
// same ids. Pure function; any thread may call.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// Contents by file name: tokenizer.json and tokenizer_config.json; special_tokens_map.json where
// special tokens have names; of byte-level BPE, bytes among it, vocab.json and merges.txt where
// these two say all. Characters that the vocabulary does
// not have are an error here; there they are left out.
std::map<std::string, std::string> HuggingFaceTokenizerFiles(const Tokenizer& tokenizer);

}  // namespace gp
