#include "formats/old_pickle.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace gp::formats {
namespace {

// The instructions of Python's pickletools, by what follows them: nothing, a line or two lines.
constexpr std::string_view kAlone = "(012NRabdelostu)]}";
constexpr std::string_view kBeforeLine = "FILPSVgp";
constexpr std::string_view kBeforeTwoLines = "ci";
constexpr char kEnd = '.';

bool Has(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

bool IsMadeOf(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

// The number of bytes after `instruction`, if that is fixed; nullopt for other instructions.
std::optional<size_t> FixedBytes(char instruction) {
  if (Has("KUhq", instruction)) return 1;
  if (instruction == 'M') return 2;
  if (Has("JTXjr", instruction)) return 4;
  return instruction == 'G' ? std::optional<size_t>(8) : std::nullopt;
}

// The length of the string after `instruction`, from its little-endian bytes.
size_t StringBytes(char instruction, std::string_view length) {
  if (!Has("TUX", instruction)) return 0;
  size_t bytes = 0;
  for (size_t at = length.size(); at-- > 0;) {
    bytes = bytes << 8 | static_cast<unsigned char>(length[at]);
  }
  return bytes;
}

bool IsQuoted(std::string_view line) {
  return line.size() >= 2 && Has("'\"", line[0]) && line.back() == line[0];
}

// Whether `line` can be an argument of the instruction.
bool IsArgument(char instruction, std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  if (Has("gp", instruction)) return IsMadeOf(line, kDigits);
  if (instruction == 'I' || instruction == 'L') return IsMadeOf(line, "-0123456789L");
  if (instruction == 'F') return IsMadeOf(line, "+-.0123456789aefin");
  if (instruction == 'S') return IsQuoted(line);
  return !Has("ci", instruction) || (!line.empty() && !Has(line, ' '));
}

// Goes through the instructions; each step takes one from the front.
class Walk {
 public:
  explicit Walk(std::string_view rest) : rest_(rest) {}

  bool done() const { return rest_.empty(); }
  bool ended() const { return ended_; }
  // True if the instructions both push values and combine them. Plain text, such as a list of words
  // or of names like "p1", may parse as instructions, but only of one kind.
  bool IsPickle() const { return values_ && structure_; }

  // False when the next byte is not an instruction.
  bool Step() {
    const char instruction = rest_[0];
    rest_.remove_prefix(1);
    ended_ = instruction == kEnd;
    if (ended_ || Has(kAlone, instruction)) {
      structure_ = true;
      return true;
    }
    if (Has(kBeforeLine, instruction)) return TakeLine(instruction);
    if (Has(kBeforeTwoLines, instruction)) return TakeLine(instruction) && TakeLine(instruction);
    return TakeFixed(instruction);
  }

 private:
  // Accepts an argument that is cut off at the end.
  bool TakeLine(char instruction) {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (end == std::string_view::npos) return true;
    values_ = values_ || Has("FILSp", instruction);
    return IsArgument(instruction, line);
  }

  bool TakeFixed(char instruction) {
    const auto bytes = FixedBytes(instruction);
    if (!bytes) return false;
    const std::string_view argument = rest_.substr(0, *bytes);
    // A pickle stores its first value in memo slot 0.
    values_ = values_ || (instruction == 'q' && argument == std::string_view("\0", 1));
    rest_.remove_prefix(argument.size());
    rest_.remove_prefix(std::min(StringBytes(instruction, argument), rest_.size()));
    return true;
  }

  std::string_view rest_;
  bool ended_ = false, values_ = false, structure_ = false;
};

// Whether this is the beginning of one long string: its line continues beyond `begin`, and its
// newlines are escaped.
bool IsLongString(std::string_view begin) {
  return begin.starts_with('V') && begin.find('\n') == std::string_view::npos &&
         begin.find("\\u000a") != std::string_view::npos;
}

}  // namespace

bool IsOldPickle(std::string_view begin, bool whole) {
  if (!whole && IsLongString(begin)) return true;
  Walk walk(begin);
  while (!walk.done()) {
    if (!walk.Step()) return false;
  }
  return walk.IsPickle() && (walk.ended() || !whole);
}

}  // namespace gp::formats
