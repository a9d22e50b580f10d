#include "corpus/json_grammar.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"

namespace gp::corpus {
namespace {

constexpr int kNestingMax = 1024;
constexpr char kWhiteSpace[] = " \t\r\n";

// Replaces an unpaired surrogate (half an emoji) by '?'. jq 1.6 cannot read such a line.
constexpr char kReplaceSurrogates[] =
    R"(python3 -c 'import json, sys; [print(json.dumps(json.loads(line), ensure_ascii=False))"
    R"(.encode("utf-8", "replace").decode()) for line in sys.stdin]' < OLD > NEW)";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsHighSurrogate(uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool IsLowSurrogate(uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

// Parses one line from front to back and copies all of it except the numbers.
class LineGrammar {
 public:
  explicit LineGrammar(std::string_view line) : line_(line) {}

  StatusOr<std::string> Read() {
    RETURN_IF_ERROR(CheckUtf8());
    RETURN_IF_ERROR(ReadValue("a value"));
    PassWhiteSpace();
    if (!AtEnd()) {
      return Error("{} follows the value; expected one object on each line: jq -c .", Found());
    }
    CopyUpTo(at_);
    return std::move(without_numbers_);
  }

 private:
  bool AtEnd() const { return at_ == line_.size(); }
  char Front() const { return AtEnd() ? '\0' : line_[at_]; }
  std::string Found() const { return AtEnd() ? "nothing" : "'" + Excerpt(Rest(), 12) + "'"; }
  std::string_view Rest() const { return line_.substr(at_); }

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("column {}: {}", at_ + 1,
                           fmt::format(format, std::forward<Args>(args)...));
  }
  Status EndsInside(const char* what) const {
    return Error("the line ends inside {}; expected a whole object on each line: jq -c .", what);
  }

  Status CheckUtf8() {
    std::string_view rest = line_;
    while (!rest.empty()) {
      if (TakeCodePoint(rest)) continue;
      at_ = line_.size() - rest.size();
      return Error("the byte {:#04x} is not UTF-8", static_cast<unsigned char>(rest.front()));
    }
    return OkStatus();
  }

  void PassWhiteSpace() { at_ = std::min(line_.find_first_not_of(kWhiteSpace, at_), line_.size()); }
  bool Take(std::string_view word) {
    if (!Rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void CopyUpTo(size_t end) {
    without_numbers_ += line_.substr(copied_, end - copied_);
    copied_ = end;
  }
  // Writes 0 for the number, which reaches from `begin` to at_.
  void ReplaceNumber(size_t begin) {
    CopyUpTo(begin);
    without_numbers_ += '0';
    copied_ = at_;
  }

  // `expected`: what must stand here, for messages.
  Status ReadValue(const char* expected) {
    PassWhiteSpace();
    const char first = Front();
    if (first == '{') return ReadNested([this] { return ReadMember(); }, '}', "an object");
    if (first == '[') return ReadNested([this] { return ReadValue("a value"); }, ']', "a list");
    if (first == '"') return ReadString();
    if (first == '-' || IsDigit(first)) return ReadNumber();
    return ReadWord(expected);
  }

  // Reads a list or an object: items that `read_one` reads, separated by commas, up to `close`.
  template <typename ReadOne>
  Status ReadNested(const ReadOne& read_one, char close, const char* what) {
    if (nesting_ == kNestingMax) return Error("more than {} levels of nesting", kNestingMax);
    ++nesting_;
    ++at_;
    PassWhiteSpace();
    bool more = Front() != close;
    while (more) {
      PassWhiteSpace();
      if (AtEnd()) return EndsInside(what);
      if (Front() == close) return Error("a comma before '{}'", close);
      RETURN_IF_ERROR(read_one());
      PassWhiteSpace();
      if (AtEnd()) return EndsInside(what);
      more = Take(",");
      if (!more && Front() != close) return Error("{}, expected ',' or '{}'", Found(), close);
    }
    ++at_;
    --nesting_;
    return OkStatus();
  }

  Status ReadMember() {
    if (Front() == '\'') {
      return Error("a name in single quotes, as Python prints it; write lines with json.dumps");
    }
    if (Front() != '"') return Error("{}, expected a name in double quotes", Found());
    RETURN_IF_ERROR(ReadString());
    PassWhiteSpace();
    if (AtEnd()) return EndsInside("an object");
    if (!Take(":")) return Error("{}, expected ':' after a name", Found());
    PassWhiteSpace();
    if (AtEnd()) return EndsInside("an object");
    return ReadValue("a value");
  }

  Status ReadWord(const char* expected) {
    const size_t begin = at_;
    if (Take("NaN") || Take("Infinity")) {
      ReplaceNumber(begin);
      return OkStatus();
    }
    for (const char* word : {"true", "false", "null"}) {
      if (Take(word)) return OkStatus();
    }
    if (Front() == '\'') {
      return Error("a text in single quotes, as Python prints it; write lines with json.dumps");
    }
    size_t end = at_;
    while (end < line_.size() && IsWordCharacter(line_[end])) ++end;
    const std::string_view word = line_.substr(at_, end - at_);
    if (word == "None" || word == "True" || word == "False") {
      return Error("{} is a Python literal, not JSON; write lines with json.dumps", word);
    }
    return Error("{}, expected {}", Found(), expected);
  }

  Status ReadNumber() {
    const size_t begin = at_;
    Take("-");
    if (!Take("Infinity")) {
      const size_t digits = at_;
      RETURN_IF_ERROR(ReadDigits());
      if (line_[digits] == '0' && at_ - digits > 1) {
        at_ = begin;
        return Error("a number that begins with 0");
      }
      if (Take(".")) RETURN_IF_ERROR(ReadDigits());
      if (Take("e") || Take("E")) {
        if (!Take("+")) Take("-");
        RETURN_IF_ERROR(ReadDigits());
      }
    }
    if (IsWordCharacter(Front())) return Error("{} after a number", Found());
    ReplaceNumber(begin);
    return OkStatus();
  }
  Status ReadDigits() {
    if (!IsDigit(Front())) return Error("{}, expected a digit", Found());
    while (IsDigit(Front())) ++at_;
    return OkStatus();
  }

  Status ReadString() {
    const size_t begin = at_++;
    while (true) {
      const size_t length = std::min(Rest().find_first_of(kSpecial), Rest().size());
      at_ += length;
      if (AtEnd()) {
        at_ = begin;
        return Error(
            "the line ends inside the string that begins here; a line's end within a text "
            "is written \\n");
      }
      if (Take("\"")) return OkStatus();
      if (Front() != '\\') {
        return Error("the control character {:#04x} in a string, which JSON writes as \\u00{:02x}",
                     static_cast<unsigned>(Front()), static_cast<unsigned>(Front()));
      }
      RETURN_IF_ERROR(ReadEscape());
    }
  }

  Status ReadEscape() {
    const size_t begin = at_++;
    if (Front() != 'u') {
      if (AtEnd() || std::string_view("\"\\/bfnrt").find(Front()) == std::string_view::npos) {
        at_ = begin;
        return Error("{} is not a JSON escape", Found());
      }
      ++at_;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const uint32_t unit, ReadUnit(begin));
    if (!IsHighSurrogate(unit) && !IsLowSurrogate(unit)) return OkStatus();
    if (IsHighSurrogate(unit) && Rest().starts_with("\\u")) {
      const size_t second = at_++;
      ASSIGN_OR_RETURN(const uint32_t low, ReadUnit(second));
      if (IsLowSurrogate(low)) return OkStatus();
    }
    at_ = begin;
    return Error(
        "\\u{:04x} is half of a surrogate pair without the other half, so it is not a character; "
        "replace it: {}",
        unit, kReplaceSurrogates);
  }
  // The four digits after \u, which begins at `begin`.
  StatusOr<uint32_t> ReadUnit(size_t begin) {
    ++at_;
    uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const size_t digit =
          std::string_view("0123456789abcdef")
              .find(static_cast<char>(IsDigit(Front()) ? Front() : Front() | 0x20));
      if (AtEnd() || digit == std::string_view::npos) {
        at_ = begin;
        return Error("{} is not a JSON escape: expected four hexadecimal digits after \\u",
                     Found());
      }
      unit = unit * 16 + static_cast<uint32_t>(digit);
    }
    return unit;
  }

  // The characters that end a string or must be escaped in it.
  static constexpr auto kSpecialCharacters = [] {
    std::array<char, 34> characters{};
    for (size_t i = 0; i < 32; ++i) characters[i] = static_cast<char>(i);
    characters[32] = '"';
    characters[33] = '\\';
    return characters;
  }();
  static constexpr std::string_view kSpecial{kSpecialCharacters.data(), kSpecialCharacters.size()};

  const std::string_view line_;
  size_t at_ = 0;      // offset of the next character
  size_t copied_ = 0;  // up to here, the line is in without_numbers_
  int nesting_ = 0;
  std::string without_numbers_;
};

}  // namespace

StatusOr<std::string> WithoutNumbers(std::string_view line) { return LineGrammar(line).Read(); }

}  // namespace gp::corpus
