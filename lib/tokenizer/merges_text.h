// The text of a merges.txt or vocab.bpe: a "#version" line, then one merge of two tokens per line,
// in order of priority. Pure functions; any thread may call. The format:
// docs/formats/tokenizers.md.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {

// Adds the merges to a builder that has their tokens. InvalidArgument names the line.
Status AddMergeLines(std::string_view text, BytePairVocabularyBuilder& builder);

// The vocabulary of a vocab.bpe alone, numbered as GPT-2's: bytes in the order of the alphabet,
// merges, <|endoftext|>.
StatusOr<BytePairVocabulary> ParseNumberedMerges(std::string_view text);

// The lines without the version, each with its line break.
std::string MergeLines(const BytePairVocabulary& vocabulary);

inline constexpr char kMergesVersion[] = "#version: 0.2\n";

}  // namespace gp
