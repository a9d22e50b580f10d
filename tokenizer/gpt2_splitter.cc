#include "tokenizer/gpt2_splitter.h"

#include <initializer_list>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/unicode_classes.h"

namespace gp {
namespace {

enum class Class { kEnd, kSpace, kLetter, kNumber, kOther };

// The class of the code point that `text` begins with, and its length in bytes.
struct Symbol {
  Class kind = Class::kEnd;
  size_t size_bytes = 0;
};

Symbol FirstSymbol(std::string_view text) {
  if (text.empty()) return {};
  std::string_view rest = text;
  const auto code_point = TakeCodePoint(rest);
  if (!code_point) return {Class::kOther, 1};
  const size_t size_bytes = text.size() - rest.size();
  if (IsLetter(*code_point)) return {Class::kLetter, size_bytes};
  if (IsNumber(*code_point)) return {Class::kNumber, size_bytes};
  if (IsSpace(*code_point)) return {Class::kSpace, size_bytes};
  return {Class::kOther, size_bytes};
}

// Bytes of the run of symbols of one class from `begin` on.
size_t RunEnd(std::string_view text, size_t begin, Class kind) {
  while (true) {
    const Symbol symbol = FirstSymbol(text.substr(begin));
    if (symbol.kind != kind) return begin;
    begin += symbol.size_bytes;
  }
}

// "'s" and its kin; 0 when the text does not begin with one.
size_t ContractionBytes(std::string_view text) {
  for (const std::string_view ending : {"'s", "'d", "'m", "'t", "'ll", "'ve", "'re"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// A run of white space leaves its last symbol to what follows, unless that is all there is.
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

}  // namespace

std::string_view TakePiece(std::string_view& text) {
  GP_CHECK(!text.empty());
  const std::string_view piece = text.substr(0, PieceBytes(text));
  text.remove_prefix(piece.size());
  return piece;
}

}  // namespace gp
