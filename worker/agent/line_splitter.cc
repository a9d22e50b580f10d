#include "worker/agent/line_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/utf8.h"

namespace gp::agent {

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
  std::string line = ValidUtf8(std::exchange(line_, {}), '?');
  if (line.ends_with('\r')) line.pop_back();
  if (const size_t cut = std::exchange(cut_bytes_, 0))
    line += fmt::format(" … ({} bytes cut)", cut);
  return line;
}

}  // namespace gp::agent
