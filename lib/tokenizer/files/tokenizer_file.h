// Tokenizers that come as files: Hugging Face's tokenizer.json or vocab.json with merges.txt,
// OpenAI's vocab.bpe with encoder.json, tiktoken's .tiktoken, and the tokenizer.json of gp's own
// checkpoints. Reads the disk; any thread may call. The formats: docs/formats/tokenizers.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// Reads a tokenizer from one of the files listed above, or from a directory that holds one. In a
// directory it looks for tokenizer.json first, then vocab.json with merges.txt, then vocab.bpe with
// encoder.json, then a single .tiktoken file. GPT-2's own vocabulary is recognised in every form.
// NotFound, PermissionDenied, or InvalidArgument with the file, the place and what was expected.
// `notes` get a sentence for each contradiction between the files about special tokens.
StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const std::string& path,
                                                   std::vector<std::string>* notes = nullptr);

}  // namespace gp
