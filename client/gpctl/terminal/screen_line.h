// ScreenLine: a line of a live screen, made of parts with colours. A value; not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/gpctl/terminal/color.h"

namespace gp::gpctl {

class ScreenLine {
 public:
  ScreenLine() = default;
  // REQUIRES of every text: no control characters (OneSafeLine).
  explicit ScreenLine(std::string_view text, Color color = Color::kNone) { Add(text, color); }

  // Text with escape sequences of colours, each a number ("\x1b[94m", "\x1b[0m"), as Colored makes.
  static ScreenLine OfColored(std::string_view text);

  ScreenLine& Add(std::string_view text, Color color = Color::kNone) {
    return AddPart(text, ColorCode(color));
  }
  ScreenLine& Add(const ScreenLine& line);
  // Adds spaces up to `width`.
  ScreenLine& PadTo(int width);

  int width() const { return width_; }
  bool empty() const { return parts_.empty(); }

  // The first `width` columns. A line that is cut ends in "…" ("~" in ASCII).
  ScreenLine Cut(int width, bool utf8) const;
  // The text, with escape sequences if `color`.
  std::string Text(bool color) const;

 private:
  struct Part {
    std::string text;
    int code = 0;  // of the colour
  };

  ScreenLine& AddPart(std::string_view text, int code);

  std::vector<Part> parts_;
  int width_ = 0;
};

// Two blocks side by side, `gap` columns between them. Each is cut to its width.
std::vector<ScreenLine> Beside(const std::vector<ScreenLine>& left, int left_width,
                               const std::vector<ScreenLine>& right, int right_width, int gap,
                               bool utf8);

}  // namespace gp::gpctl
