#include "client/gpctl/terminal/display_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text/safe_text.h"
#include "base/text/utf8.h"

namespace gp::gpctl {
namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 1;
  bool valid = false;
};

// REQUIRES: text is not empty.
Character FirstCharacter(std::string_view text) {
  std::string_view rest = text;
  const std::optional<char32_t> code_point = TakeCodePoint(rest);
  if (!code_point) return {};
  return {*code_point, text.size() - rest.size(), true};
}

// True for combining marks and for invisible directional marks.
bool IsZeroWidth(uint32_t code) {
  return (code >= 0x300 && code < 0x370) || (code >= 0x200B && code < 0x2010) ||
         (code >= 0x202A && code < 0x202F) || (code >= 0x20D0 && code < 0x2100) ||
         (code >= 0xFE00 && code < 0xFE10) || code == 0xFEFF;
}

bool IsWide(uint32_t code) {
  return (code >= 0x1100 && code < 0x1160) || (code >= 0x2E80 && code < 0xA4D0) ||
         (code >= 0xAC00 && code < 0xD7A4) || (code >= 0xF900 && code < 0xFB00) ||
         (code >= 0xFE30 && code < 0xFE70) || (code >= 0xFF00 && code < 0xFF61) ||
         (code >= 0x1F300 && code < 0x1F650) || (code >= 0x1F900 && code < 0x1FA00) ||
         (code >= 0x20000 && code < 0x3FFFE);
}

int WidthOf(const Character& character) {
  if (!character.valid) return 1;
  if (IsZeroWidth(character.code)) return 0;
  return IsWide(character.code) ? 2 : 1;
}

bool IsUnsafe(const Character& character) {
  return !character.valid || IsUnsafeToShow(character.code);
}

void AppendSafe(std::string& out, std::string_view bytes, const Character& character, bool utf8) {
  if (IsUnsafe(character) || (!utf8 && character.code > 0x7E)) {
    out += utf8 ? "·" : ".";
  } else {
    out += bytes;
  }
}

// The number of bytes of the longest prefix of `text` that fits into `columns`.
size_t PrefixThatFits(std::string_view text, int columns) {
  size_t end = 0;
  for (int used = 0; end < text.size();) {
    const Character character = FirstCharacter(text.substr(end));
    used += WidthOf(character);
    if (used > columns) break;
    end += character.size;
  }
  return end;
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    columns += WidthOf(character);
    text.remove_prefix(character.size);
  }
  return columns;
}

std::string CutToWidth(std::string_view text, int columns, bool utf8) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  if (columns <= 0) return "";
  return std::string(text.substr(0, PrefixThatFits(text, columns - 1))) + (utf8 ? "…" : "~");
}

std::string CutMiddleToWidth(std::string_view text, int columns, bool utf8) {
  if (columns <= 1 || DisplayWidth(text) <= columns) return CutToWidth(text, columns, utf8);
  const std::string begin = CutToWidth(text, (columns + 2) / 2, utf8);
  int rest = DisplayWidth(text);
  const int kept = columns - DisplayWidth(begin);
  while (rest > kept) {
    const Character character = FirstCharacter(text);
    rest -= WidthOf(character);
    text.remove_prefix(character.size);
  }
  return begin + std::string(text);
}

std::string Wrapped(std::string_view text, int columns, int indent) {
  std::string out;
  int room = columns;
  // The first line is not broken before this column, so that a label stays with its text.
  size_t first = static_cast<size_t>(indent);
  while (columns > 0 && DisplayWidth(text) > room && room > 0) {
    const size_t fits = PrefixThatFits(text, room);
    const size_t space = text.substr(0, fits + 1).rfind(' ');
    const bool at_word = space != std::string_view::npos && space > first;
    const size_t end = at_word ? space : fits;
    if (end == 0) break;
    const std::string_view line = text.substr(0, end);
    out += std::string(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n" +
           std::string(static_cast<size_t>(indent), ' ');
    first = 0;
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end)));
    room = columns - indent;
  }
  return out + std::string(text);
}

std::string PadRight(std::string_view text, int columns) {
  const int missing = columns - DisplayWidth(text);
  return std::string(text) + std::string(missing > 0 ? missing : 0, ' ');
}

std::string PadLeft(std::string_view text, int columns) {
  const int missing = columns - DisplayWidth(text);
  return std::string(missing > 0 ? missing : 0, ' ') + std::string(text);
}

std::string OneSafeLine(std::string_view text, bool utf8) {
  std::string out;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (character.valid && character.code == '\n') {
      out += utf8 ? "⏎" : " ";
    } else if (character.valid && character.code == '\t') {
      out += ' ';
    } else {
      AppendSafe(out, text.substr(0, character.size), character, utf8);
    }
    text.remove_prefix(character.size);
  }
  return out;
}

std::string SafeText(std::string_view text, bool utf8) {
  std::string out;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (character.valid && (character.code == '\n' || character.code == '\t')) {
      out += static_cast<char>(character.code);
    } else {
      AppendSafe(out, text.substr(0, character.size), character, utf8);
    }
    text.remove_prefix(character.size);
  }
  return out;
}

namespace {

// Where the text begins that follows the last two spaces in the left half of `columns`.
int TextColumn(std::string_view line, int columns) {
  const std::string_view left = line.substr(0, static_cast<size_t>(columns) / 2);
  const size_t gap = left.rfind("  ");
  if (gap == std::string_view::npos) return 0;
  const size_t text = line.find_first_not_of(' ', gap);
  return text == std::string_view::npos || text > left.size() ? 0 : static_cast<int>(text);
}

}  // namespace

std::string WrappedBelowText(std::string_view text, int columns) {
  if (columns <= 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += DisplayWidth(line) <= columns ? std::string(line)
                                         : Wrapped(line, columns, TextColumn(line, columns));
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string LabelledLine(std::string_view label, std::string_view text, int columns) {
  constexpr int kTextIndent = 14;
  return Wrapped(fmt::format("  {:<12}{}", label, text), columns, kTextIndent) + "\n";
}

}  // namespace gp::gpctl
