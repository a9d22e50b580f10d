#include "client/gpctl/screen/screen_footer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr int kAllRows = std::numeric_limits<int>::max();

// A key, and its words in a column that begins at `column`.
void AddKeyHelp(const KeyHelp& key, int column, const TextStyle& style,
                std::vector<ScreenLine>& lines) {
  ScreenLine first = ScreenLine("  ").Add(key.key, Color::kBold);
  for (const ScreenLine& words : WrappedLines(key.word, style.width - column, kAllRows, 0)) {
    lines.push_back(first.PadTo(column).Add(words.Text(false)));
    first = ScreenLine();
  }
}

}  // namespace

ScreenLine ScreenFooter(const std::vector<KeyHelp>& keys, const std::string& message, double now,
                        const TextStyle& style) {
  ScreenLine line;
  if (!message.empty()) {
    line.Add(OneSafeLine(message, style.utf8), Color::kYellow);
  } else {
    for (const KeyHelp& key : keys) {
      ScreenLine longer = line;
      if (!line.empty()) longer.Add("  ");
      longer.Add(key.key, Color::kBold).Add(" " + key.word, Color::kGrey);
      if (!line.empty() && longer.width() > style.width) continue;
      line = longer;
    }
  }
  const std::string clock = ClockText(static_cast<int64_t>(now)) + " UTC";
  const int begin = style.width - DisplayWidth(clock);
  if (line.width() + 2 <= begin) line.PadTo(begin).Add(clock, Color::kGrey);
  return line.Cut(style.width, style.utf8);
}

std::vector<ScreenLine> HelpLines(const std::vector<KeyHelp>& keys,
                                  const std::vector<std::string>& paragraphs, int rows,
                                  const TextStyle& style) {
  int column = 0;
  for (const KeyHelp& key : keys) column = std::max(column, DisplayWidth(key.key) + 4);
  std::vector<ScreenLine> lines = {ScreenLine("Keys", Color::kBold)};
  for (const KeyHelp& key : keys) AddKeyHelp(key, column, style, lines);
  for (const std::string& text : paragraphs) {
    lines.emplace_back();
    const auto words = WrappedLines(OneSafeLine(text, style.utf8), style.width, kAllRows, 0);
    lines.insert(lines.end(), words.begin(), words.end());
  }
  const int more = static_cast<int>(lines.size()) - rows;
  if (more <= 0 || rows <= 0) return lines;
  lines.resize(static_cast<size_t>(rows));
  lines.back() = ScreenLine(fmt::format("{} more lines do not fit", more + 1), Color::kGrey);
  return lines;
}

std::vector<ScreenLine> WrappedLines(const std::string& text, int width, int rows, int indent,
                                     Color color) {
  std::vector<ScreenLine> lines;
  const std::string wrapped = Wrapped(text, std::max(width, 1), indent);
  for (size_t begin = 0; begin <= wrapped.size();) {
    const size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    if (std::ssize(lines) >= rows) break;
    lines.emplace_back(std::string_view(wrapped).substr(begin, end - begin), color);
    begin = end + 1;
  }
  return lines;
}

}  // namespace gp::gpctl
