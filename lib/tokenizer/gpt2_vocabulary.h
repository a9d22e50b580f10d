// GPT-2's own vocabulary: recognised wherever it comes from, and found on this machine. Reads the
// environment and files; any thread may call.
#pragma once

#include <string>

#include "base/status.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {

// The text of vocab.bpe, its digest verified. NotFound lists the places that were searched;
// DataLoss: the file has another digest.
StatusOr<std::string> ReadGpt2Vocabulary();

// Whether ids and merges are GPT-2's, verified by the digest of its vocab.bpe.
bool IsGpt2Vocabulary(const BytePairVocabulary& vocabulary);

}  // namespace gp
