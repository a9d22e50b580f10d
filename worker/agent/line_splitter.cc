#include "worker/agent/line_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gp::agent {
namespace {

// Bytes of the UTF-8 sequence that starts with `lead`; 0 when none does.
size_t SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

bool ValidAt(std::string_view text, size_t position, size_t length) {
  if (length == 0 || position + length > text.size()) return false;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[position + i]) & 0xc0) != 0x80) return false;
  }
  if (length < 3) return true;
  const auto lead = static_cast<unsigned char>(text[position]);
  const auto second = static_cast<unsigned char>(text[position + 1]);
  // Overlong forms, surrogates and what lies beyond U+10FFFF.
  return !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second >= 0xa0) &&
         !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second >= 0x90);
}

void MakeValidUtf8(std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(static_cast<unsigned char>(text[i]));
    if (ValidAt(text, i, length)) {
      i += length;
    } else {
      text[i++] = '?';
    }
  }
}

}  // namespace

std::vector<std::string> LineSplitter::Add(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const size_t kept = std::min(piece.size(), length_max_ - line_.size());
    line_.append(piece.substr(0, kept));
    cut_bytes_ += piece.size() - kept;
    if (end == std::string_view::npos) break;
    lines.push_back(TakeLine());
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> LineSplitter::Flush() {
  if (line_.empty()) return {};
  return {TakeLine()};
}

std::string LineSplitter::TakeLine() {
  std::string line = std::exchange(line_, {});
  if (line.ends_with('\r')) line.pop_back();
  MakeValidUtf8(line);
  if (const size_t cut = std::exchange(cut_bytes_, 0))
    line += fmt::format(" … ({} bytes cut)", cut);
  return line;
}

}  // namespace gp::agent
