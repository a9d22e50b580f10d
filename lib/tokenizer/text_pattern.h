// Checks the tokens of a file that does not name the pattern by which text is cut before encoding.
// Pure function; any thread may call. The rule: docs/formats/tokenizers.md.
#pragma once

#include "base/status.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {

// Every token was learned inside one piece of text. InvalidArgument names tokens that GPT-2's
// pattern cuts in two, if there is at least one per thousand: then the vocabulary has another
// pattern.
Status CheckGpt2Pattern(const BytePairVocabulary& vocabulary);

}  // namespace gp
