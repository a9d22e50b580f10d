#include "base/text/excerpt.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace gp {
namespace {

constexpr std::string_view kCut = "…";
constexpr size_t kCharactersBefore = 40;
constexpr size_t kCharacterBytesMax = 4;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

bool IsUnprintable(char32_t c) {
  return (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

// Removes one character from the front and returns it, or "?" if a message must not contain it.
std::string TakeShown(std::string_view& text) {
  const std::string_view before = text;
  const auto character = TakeCodePoint(text);
  if (!character) text.remove_prefix(1);
  if (!character || IsUnprintable(*character)) return "?";
  return std::string(before.substr(0, before.size() - text.size()));
}

// The start of the first character at or after `offset`; a stray byte counts as a character.
size_t CharacterStart(std::string_view line, size_t offset) {
  for (size_t skipped = 1; skipped < kCharacterBytesMax; ++skipped) {
    if (offset >= line.size() || !IsContinuation(line[offset])) break;
    ++offset;
  }
  return offset;
}

}  // namespace

std::string Excerpt(std::string_view text, size_t characters_max) {
  std::string shown;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == characters_max) return shown.append(kCut);
    shown += TakeShown(text);
  }
  return shown;
}

LineExcerpt ExcerptAround(std::string_view line, size_t offset) {
  offset = std::min(offset, line.size());
  size_t begin = 0;
  // Cut by characters, not bytes. The prefix is long enough to tell whether there are too many.
  if (CountCharacters(line.substr(0, kLineCharactersMax * kCharacterBytesMax + 1)) >
      kLineCharactersMax) {
    const size_t bytes_before = kCharactersBefore * kCharacterBytesMax;
    begin = offset > bytes_before ? CharacterStart(line, offset - bytes_before) : 0;
    while (CountCharacters(line.substr(begin, offset - begin)) > kCharactersBefore) {
      begin = CharacterStart(line, begin + 1);
    }
  }
  LineExcerpt excerpt;
  if (begin > 0) excerpt.text = kCut;
  excerpt.index = CountCharacters(excerpt.text);
  std::string_view rest = line.substr(begin);
  for (size_t count = 0; !rest.empty(); ++count) {
    if (count == kLineCharactersMax) return {excerpt.text.append(kCut), excerpt.index};
    if (line.size() - rest.size() < offset) ++excerpt.index;
    excerpt.text += TakeShown(rest);
  }
  return excerpt;
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

}  // namespace gp
