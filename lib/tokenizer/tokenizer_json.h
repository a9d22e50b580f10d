// Hugging Face's tokenizer.json, for byte-level BPEs that cut text like GPT-2; checkpoints keep
// such tokenizers in this form too. Pure functions; any thread may call. The format:
// docs/formats/tokenizers.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/special_tokens.h"

namespace gp {

// The vocabulary and merges of a parsed file, with `more` tokens from files beside it.
// InvalidArgument names a damaged key, or one that asks for something gp does differently.
StatusOr<BytePairVocabulary> ReadTokenizerJson(const nlohmann::json& document,
                                               const AddedTokens& more = {});

// The vocabulary made from `vocab` (vocab.json or encoder.json: tokens to ids), the `added` tokens,
// and `merges` (the text of merges.txt or vocab.bpe). Errors about the ids begin with `vocab_name`,
// the others with `merges_name`.
StatusOr<BytePairVocabulary> ReadVocabularyPair(const nlohmann::json& vocab,
                                                std::string_view merges,
                                                const std::string& vocab_name,
                                                const std::string& merges_name,
                                                AddedTokens added = {});

// Equal vocabularies give equal text. `special` becomes model.special_tokens, which Hugging Face
// ignores.
std::string FormatTokenizerJson(const BytePairVocabulary& vocabulary,
                                const SpecialTokens* special = nullptr);

// The file vocab.json: every token and its id.
std::string FormatVocabJson(const BytePairVocabulary& vocabulary);

}  // namespace gp
