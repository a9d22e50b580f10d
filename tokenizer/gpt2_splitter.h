// Cuts text into the pieces that GPT-2 encodes one by one, by its rule (tiktoken's r50k_base):
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Bytes that are no UTF-8 count as one symbol each. Pure function.
#pragma once

#include <string_view>

namespace gp {

// Takes the first piece off the front of `text`. REQUIRES: not empty.
std::string_view TakePiece(std::string_view& text);

}  // namespace gp
