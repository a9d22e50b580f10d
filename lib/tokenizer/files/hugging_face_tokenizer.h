// The tokenizer files of a Hugging Face directory, which transformers and tokenizers load, with the
// same ids. Pure function; any thread may call.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// Contents by file name: always tokenizer.json and tokenizer_config.json; special_tokens_map.json
// if special tokens have names; vocab.json and merges.txt for a byte-level BPE (and for bytes) that
// these two describe completely. For a tokenizer of characters, gp refuses text with a character
// outside the vocabulary, while Hugging Face leaves such characters out.
std::map<std::string, std::string> HuggingFaceTokenizerFiles(const Tokenizer& tokenizer);

}  // namespace gp
