#include "client/gpctl/terminal/screen_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {

ScreenLine& ScreenLine::AddPart(std::string_view text, int code) {
  if (text.empty()) return *this;
  width_ += DisplayWidth(text);
  if (!parts_.empty() && parts_.back().code == code) {
    parts_.back().text += text;
  } else {
    parts_.push_back({std::string(text), code});
  }
  return *this;
}

ScreenLine ScreenLine::OfColored(std::string_view text) {
  constexpr std::string_view kBegin = "\x1b[";
  ScreenLine line;
  int code = 0;
  while (!text.empty()) {
    const size_t begin = text.find(kBegin);
    line.AddPart(text.substr(0, begin), code);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin + kBegin.size());
    code = 0;
    std::from_chars(text.data(), text.data() + text.size(), code);
    const size_t end = text.find('m');
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return line;
}

ScreenLine& ScreenLine::Add(const ScreenLine& line) {
  for (const Part& part : line.parts_) AddPart(part.text, part.code);
  return *this;
}

ScreenLine& ScreenLine::PadTo(int width) {
  if (width > width_) Add(std::string(static_cast<size_t>(width - width_), ' '));
  return *this;
}

ScreenLine ScreenLine::Cut(int width, bool utf8) const {
  if (width_ <= width) return *this;
  ScreenLine out;
  for (const Part& part : parts_) {
    const int room = width - out.width_;
    const int part_width = DisplayWidth(part.text);
    // The mark of the cut needs a column, and this is not the last part if it takes all the room.
    if (part_width < room) {
      out.AddPart(part.text, part.code);
      continue;
    }
    out.AddPart(CutToWidth(part.text + " ", room, utf8), part.code);
    break;
  }
  return out;
}

std::string ScreenLine::Text(bool color) const {
  std::string out;
  for (const Part& part : parts_) {
    out += color && part.code != 0 ? fmt::format("\x1b[{}m{}\x1b[0m", part.code, part.text)
                                   : part.text;
  }
  return out;
}

std::vector<ScreenLine> Beside(const std::vector<ScreenLine>& left, int left_width,
                               const std::vector<ScreenLine>& right, int right_width, int gap,
                               bool utf8) {
  std::vector<ScreenLine> out(std::max(left.size(), right.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < left.size()) out[i] = left[i].Cut(left_width, utf8);
    if (i >= right.size() || right[i].empty()) continue;
    out[i].PadTo(left_width + gap).Add(right[i].Cut(right_width, utf8));
  }
  return out;
}

}  // namespace gp::gpctl
