// Cuts text into the pieces that GPT-2 encodes one by one, by its rule (tiktoken's r50k_base):
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Bytes that are not UTF-8 count as one symbol each. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace gp {

// Removes the first piece from `text` and returns it. REQUIRES: not empty.
std::string_view TakePiece(std::string_view& text);

// Whether `text`, taken alone, is one piece. False for empty text.
bool IsPiece(std::string_view text);

// The first place after 0, at or after `begin`, where a piece surely starts in any context: at
// ASCII white space after another symbol, because white space occurs only at the front of a piece
// with other symbols. Cutting there leaves all pieces unchanged. text.size() if there is none.
size_t FindPieceStart(std::string_view text, size_t begin);

}  // namespace gp
