#include "client/gpctl/screen/screen_footer.h"

#include <algorithm>

#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {

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
