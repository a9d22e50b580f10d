// UTF-8, strictly: shortest forms only, no surrogates, nothing above U+10FFFF. Invalid UTF-8 is
// replaced as in WHATWG and Python: one replacement for each incomplete character, as long as
// possible, and one for each other invalid byte. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gp {

// Removes one code point from the front of `text` and returns it. Nullopt, and `text` unchanged,
// when `text` does not begin with one.
std::optional<char32_t> TakeCodePoint(std::string_view& text);

void AppendCodePoint(char32_t code_point, std::string& text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

// Removes the part at the front that becomes one replacement. REQUIRES: `text` is not empty and
// does not begin with a code point.
void TakeInvalidPart(std::string_view& text);

// The number of bytes at the front that form complete code points: all of them, if `text` is UTF-8.
size_t WholeUtf8Bytes(std::string_view text);
inline bool IsUtf8(std::string_view text) { return WholeUtf8Bytes(text) == text.size(); }

// `text` with each invalid part replaced: by `replacement`, or by U+FFFD.
std::string ValidUtf8(std::string_view text, char replacement);
std::string ValidUtf8(std::string_view text);

// How many bytes at the end begin a code point that more bytes could complete: at most three.
size_t UnfinishedBytes(std::string_view text);

// Counts the characters of a text that arrives in pieces, which may split characters; an invalid
// part counts as one.
class CharacterCounter {
 public:
  void Add(std::string_view bytes);
  // An unfinished character at the end counts as one.
  int64_t count() const { return count_ + (unfinished_.empty() ? 0 : 1); }

 private:
  int64_t count_ = 0;
  std::string unfinished_;
};

}  // namespace gp
