#include "tokenizer/special_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text/utf8.h"
#include "tokenizer/unicode_classes.h"

namespace gp {
namespace {

// Removes the last character of `text` and returns it. Nullopt, and `text` unchanged, when it does
// not end with one.
std::optional<char32_t> TakeLastCodePoint(std::string_view& text) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xc0) == 0x80) {
  }
  std::string_view last = text.substr(begin);
  const auto character = TakeCodePoint(last);
  if (!character || !last.empty()) return std::nullopt;
  text = text.substr(0, begin);
  return character;
}

bool IsOfWord(const std::optional<char32_t>& character) {
  return character && (IsLetter(*character) || IsNumber(*character) || *character == U'_');
}

// Whether no character of a word stands right before or after it.
bool StandsAlone(std::string_view text, const SpecialText& found) {
  std::string_view before = text.substr(0, found.begin), after = text.substr(found.end);
  return !IsOfWord(TakeLastCodePoint(before)) && !IsOfWord(TakeCodePoint(after));
}

// Where the trailing white space of `text` begins.
size_t TrailingSpaceBegin(std::string_view text) {
  while (true) {
    std::string_view rest = text;
    const auto last = TakeLastCodePoint(rest);
    if (!last || !IsSpace(*last)) return text.size();
    text = rest;
  }
}

// The number of bytes of leading white space in `text`.
size_t LeadingSpaceBytes(std::string_view text) {
  std::string_view rest = text;
  while (true) {
    std::string_view next = rest;
    const auto first = TakeCodePoint(next);
    if (!first || !IsSpace(*first)) return text.size() - rest.size();
    rest = next;
  }
}

// The special tokens by the first byte of their text, longest first.
class Spellings {
 public:
  explicit Spellings(const BytePairVocabulary& vocabulary) : vocabulary_(vocabulary) {
    for (const int32_t id : vocabulary.special) {
      if (!vocabulary.unlisted.contains(id)) by_first_[TextOf(id).front()].push_back(id);
    }
    for (auto& [first, ids] : by_first_) {
      std::stable_sort(ids.begin(), ids.end(), [this](int32_t a, int32_t b) {
        return TextOf(a).size() > TextOf(b).size();
      });
    }
  }

  // The longest special token that `text` begins with.
  std::optional<int32_t> At(std::string_view text) const {
    const auto ids = by_first_.find(text.front());
    if (ids == by_first_.end()) return std::nullopt;
    const auto id = std::find_if(ids->second.begin(), ids->second.end(),
                                 [&](int32_t it) { return text.starts_with(TextOf(it)); });
    return id == ids->second.end() ? std::nullopt : std::optional(*id);
  }

  const std::string& TextOf(int32_t id) const {
    return vocabulary_.tokens[static_cast<size_t>(id)];
  }

 private:
  const BytePairVocabulary& vocabulary_;
  std::map<char, std::vector<int32_t>> by_first_;
};

}  // namespace

std::vector<SpecialText> FindSpecialTexts(const BytePairVocabulary& vocabulary,
                                          std::string_view text) {
  const Spellings spellings(vocabulary);
  std::vector<SpecialText> texts;
  size_t taken = 0;  // the end of the last special text
  for (size_t begin = 0; begin < text.size();) {
    const auto id = spellings.At(text.substr(begin));
    SpecialText found{begin, begin + (id ? spellings.TextOf(*id).size() : 1), id.value_or(0)};
    begin = found.end;
    if (!id || found.begin < taken) continue;
    const SpecialTokenFlags flags = vocabulary.FlagsOf(*id);
    if (flags.single_word && !StandsAlone(text, found)) continue;
    if (flags.lstrip)
      found.begin = std::max(TrailingSpaceBegin(text.substr(0, found.begin)), taken);
    if (flags.rstrip) found.end += LeadingSpaceBytes(text.substr(found.end));
    texts.push_back(found);
    taken = found.end;
  }
  return texts;
}

}  // namespace gp
