#include "tasks/harness_text.h"

#include <wctype.h>

#include <algorithm>
#include <clocale>
#include <cstdint>

#include "base/text/utf8.h"
#include "tokenizer/unicode_classes.h"

namespace gp::tasks {
namespace {

// Python's white space is \s and the four separators of ASCII.
bool IsPythonSpace(char32_t c) { return IsSpace(c) || (c >= 0x1c && c <= 0x1f); }

std::string Replace(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string_view Stripped(std::string_view text) {
  text = text.substr(0, TrimmedSize(text));
  while (!text.empty()) {
    std::string_view rest = text;
    const auto first = TakeCodePoint(rest);
    if (!first || !IsPythonSpace(*first)) break;
    text = rest;
  }
  return text;
}

// re.sub("\\[.*?\\]", "", text): the dot matches everything but a line break.
std::string WithoutBrackets(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const size_t open = std::min(text.find('['), text.size());
    const size_t end = std::min(text.find_first_of("]\n", open), text.size() - 1);
    kept += text.substr(0, text[end] == ']' ? open : end + 1);
    text.remove_prefix(end + 1);
  }
  return kept;
}

locale_t UnicodeLetters() {
  static const locale_t kLocale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return kLocale;
}

}  // namespace

size_t TrimmedSize(std::string_view text) {
  size_t size = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto c = TakeCodePoint(rest);
    if (!c) rest.remove_prefix(1);
    if (!c || !IsPythonSpace(*c)) size = text.size() - rest.size();
  }
  return size;
}

std::string HarnessText(std::string_view text) {
  const std::string titled = Replace(std::string(Stripped(text)), " [title]", ". ");
  return Replace(WithoutBrackets(titled), "  ", " ");
}

std::string Capitalized(std::string_view text) {
  const locale_t letters = UnicodeLetters();
  std::string result;
  while (!text.empty()) {
    const auto c = TakeCodePoint(text);
    if (!c) {
      result += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto letter = static_cast<wint_t>(*c);
    const bool first = result.empty();
    AppendCodePoint(letters == locale_t{} ? letter
                    : first               ? towupper_l(letter, letters)
                                          : towlower_l(letter, letters),
                    result);
  }
  return result;
}

int64_t CodePointCount(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

}  // namespace gp::tasks
