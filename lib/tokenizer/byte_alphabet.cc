#include "tokenizer/byte_alphabet.h"

#include "base/text/utf8.h"

namespace gp {
namespace {

constexpr char32_t kCharactersEnd = 0x100 + 68;

struct ByteAlphabet {
  std::array<char32_t, 256> character_of{};
  std::array<unsigned char, 256> order{};
  std::array<int, kCharactersEnd> byte_of{};  // -1: none

  ByteAlphabet() {
    byte_of.fill(-1);
    const auto printable = [](int byte) {
      return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    };
    size_t place = 0;
    for (int byte = 0; byte < 256; ++byte) {
      if (printable(byte)) Add(byte, static_cast<char32_t>(byte), place++);
    }
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      if (!printable(byte)) Add(byte, next++, place++);
    }
  }

  void Add(int byte, char32_t character, size_t place) {
    character_of[static_cast<size_t>(byte)] = character;
    order[place] = static_cast<unsigned char>(byte);
    byte_of[character] = byte;
  }
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet kAlphabet;
  return kAlphabet;
}

}  // namespace

const std::array<unsigned char, 256>& AlphabetOrder() { return Alphabet().order; }

std::string InByteAlphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    AppendCodePoint(Alphabet().character_of[static_cast<unsigned char>(byte)], text);
  }
  return text;
}

std::optional<std::string> BytesOfAlphabet(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const auto character = TakeCodePoint(text);
    if (!character || *character >= kCharactersEnd) return std::nullopt;
    const int byte = Alphabet().byte_of[*character];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace gp
