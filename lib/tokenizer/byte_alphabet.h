// GPT-2's byte alphabet: how files of byte-level BPE write bytes as printable characters. The 188
// bytes that are printable in Latin-1 are written as themselves, the other 68 as U+0100 and up, in
// order. Pure functions; any thread may call.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace gp {

// The bytes in the order of their characters, which is the order of GPT-2's ids 0 to 255.
const std::array<unsigned char, 256>& AlphabetOrder();

// Writes `bytes` as text, with one character for each byte.
std::string InByteAlphabet(std::string_view bytes);

// The bytes written as `text`; nullopt when a character is not in the alphabet.
std::optional<std::string> BytesOfAlphabet(std::string_view text);

}  // namespace gp
