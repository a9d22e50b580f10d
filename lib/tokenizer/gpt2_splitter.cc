#include "tokenizer/gpt2_splitter.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/text/utf8.h"
#include "tokenizer/unicode_classes.h"

namespace gp {
namespace {

enum class Class : uint8_t { kEnd, kSpace, kLetter, kNumber, kOther };

// The class of the code point that `text` begins with, and its length in bytes.
struct Symbol {
  Class kind = Class::kEnd;
  size_t size_bytes = 0;
};

Class ClassOf(char32_t code_point) {
  if (IsLetter(code_point)) return Class::kLetter;
  if (IsNumber(code_point)) return Class::kNumber;
  if (IsSpace(code_point)) return Class::kSpace;
  return Class::kOther;
}

template <size_t kCount>
std::array<Class, kCount> MakeClasses() {
  std::array<Class, kCount> classes;
  for (size_t i = 0; i < kCount; ++i) classes[i] = ClassOf(static_cast<char32_t>(i));
  return classes;
}

// Almost every byte of most text is ASCII, and almost every other character is in the basic
// multilingual plane.
const std::array<Class, 0x80> kAscii = MakeClasses<0x80>();

const std::array<Class, 0x10000>& FirstPlane() {
  static const std::array<Class, 0x10000> kClasses = MakeClasses<0x10000>();
  return kClasses;
}

bool IsAscii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }
Class AsciiClass(char byte) { return kAscii[static_cast<unsigned char>(byte)]; }

Symbol FirstWideSymbol(std::string_view text) {
  std::string_view rest = text;
  const auto code_point = TakeCodePoint(rest);
  if (!code_point) return {Class::kOther, 1};
  const size_t size_bytes = text.size() - rest.size();
  if (*code_point < 0x10000) return {FirstPlane()[*code_point], size_bytes};
  return {ClassOf(*code_point), size_bytes};
}

Symbol FirstSymbol(std::string_view text) {
  if (text.empty()) return {};
  if (IsAscii(text[0])) return {AsciiClass(text[0]), 1};
  return FirstWideSymbol(text);
}

// Where the run of symbols of class `kind` that starts at `begin` ends.
size_t RunEnd(std::string_view text, size_t begin, Class kind) {
  while (true) {
    while (begin < text.size() && IsAscii(text[begin]) && AsciiClass(text[begin]) == kind) ++begin;
    if (begin == text.size() || IsAscii(text[begin])) return begin;
    const Symbol symbol = FirstWideSymbol(text.substr(begin));
    if (symbol.kind != kind) return begin;
    begin += symbol.size_bytes;
  }
}

// The length in bytes of a contraction such as 's or 'll; 0 when the text does not begin with one.
size_t ContractionBytes(std::string_view text) {
  if (text[0] != '\'') return 0;
  for (const std::string_view ending : {"'s", "'d", "'m", "'t", "'ll", "'ve", "'re"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// The length of the white space that forms a piece. The last symbol of a run belongs to the next
// piece, unless the run has only one symbol or the text ends there.
size_t SpaceBytes(std::string_view text) {
  size_t end = 0, last = 0;
  for (Symbol symbol = FirstSymbol(text); symbol.kind == Class::kSpace;
       symbol = FirstSymbol(text.substr(end))) {
    last = end;
    end += symbol.size_bytes;
  }
  return end == text.size() || last == 0 ? end : last;
}

size_t PieceBytes(std::string_view text) {
  if (const size_t contraction = ContractionBytes(text); contraction > 0) return contraction;
  const size_t begin = text[0] == ' ' ? 1 : 0;
  const Class kind = FirstSymbol(text.substr(begin)).kind;
  if (kind == Class::kSpace || kind == Class::kEnd) return SpaceBytes(text);
  return RunEnd(text, begin, kind);
}

// The symbol that ends before `end`. Tries the longest length first, because a single byte of a
// longer symbol is not a symbol.
Symbol SymbolBefore(std::string_view text, size_t end) {
  for (size_t size = std::min<size_t>(end, 4); size > 1; --size) {
    const Symbol symbol = FirstSymbol(text.substr(end - size, size));
    if (symbol.size_bytes == size) return symbol;
  }
  return FirstSymbol(text.substr(end - 1, 1));
}

}  // namespace

std::string_view TakePiece(std::string_view& text) {
  GP_CHECK(!text.empty());
  const std::string_view piece = text.substr(0, PieceBytes(text));
  text.remove_prefix(piece.size());
  return piece;
}

bool IsPiece(std::string_view text) { return !text.empty() && PieceBytes(text) == text.size(); }

size_t FindPieceStart(std::string_view text, size_t begin) {
  for (size_t i = std::max<size_t>(begin, 1); i < text.size(); ++i) {
    if (!IsAscii(text[i]) || AsciiClass(text[i]) != Class::kSpace) continue;
    if (SymbolBefore(text, i).kind != Class::kSpace) return i;
  }
  return text.size();
}

}  // namespace gp
