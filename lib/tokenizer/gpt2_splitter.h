// Cuts text into the pieces that GPT-2 encodes one by one, by its rule (tiktoken's r50k_base):
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Bytes that are no UTF-8 count as one symbol each. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace gp {

// Takes the first piece off the front of `text`. REQUIRES: not empty.
std::string_view TakePiece(std::string_view& text);

// Whether `text` is one piece when nothing surrounds it. False for no text.
bool IsPiece(std::string_view text);

// The first place after 0, at or after `begin`, where a piece starts whatever surrounds it: at
// white space that follows something else, for white space is only ever at the front of a piece
// with anything else in it. The pieces of what lies before and after it are those of the whole
// text. text.size() when there is none.
size_t FindPieceStart(std::string_view text, size_t begin);

}  // namespace gp
