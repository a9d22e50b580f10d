// Finds special tokens spelled in a text: the leftmost and longest, with their white space, like
// Hugging Face's tokenizers. Pure functions; any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {

struct SpecialText {
  size_t begin = 0;  // bytes of the text
  size_t end = 0;
  int32_t id = 0;
};

// The special texts in `text`, in the order in which they occur. They do not overlap.
std::vector<SpecialText> FindSpecialTexts(const BytePairVocabulary& vocabulary,
                                          std::string_view text);

}  // namespace gp
