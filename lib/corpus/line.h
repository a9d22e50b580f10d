// Lines of text as every system writes them: they end in "\n" or "\r\n". Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace gp::corpus {

// Removes the first line from `text`, with its line end, and returns it.
inline std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const size_t size = end == std::string_view::npos ? text.size() : end + 1;
  const std::string_view line = text.substr(0, size);
  text.remove_prefix(size);
  return line;
}

inline std::string_view WithoutLineEnd(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Whether `text` is only white space.
inline bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

// Whether the line, without its line end, has only spaces and tabs.
inline bool IsBlankLine(std::string_view line) {
  return WithoutLineEnd(line).find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace gp::corpus
