// DotCanvas: draws lines into character cells. With braille characters a cell has 2 x 4 dots; in
// ASCII 1 x 3. A plain value; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gp::gpctl {

// A place in dots; (0, 0) is the top left one.
struct Dot {
  int x = 0;
  int y = 0;
};

// Which dots along a curve are drawn. A curve keeps its pen from line to line, so that its dashes
// do not begin anew at each point.
class Pen {
 public:
  // The lengths of dashes and gaps in turn, in dots; empty: a solid line. A part ends where the
  // curve is that far from the part's beginning, so that the noise of a curve does not shorten it.
  explicit Pen(std::vector<int> lengths = {}) : lengths_(std::move(lengths)) {}

  // Goes on to the next dot; whether it is drawn.
  bool MoveTo(Dot at);

 private:
  std::vector<int> lengths_;
  size_t part_ = 0;           // of lengths_
  std::optional<Dot> begin_;  // of the part
};

class DotCanvas {
 public:
  enum class Cells { kBraille, kAscii };

  DotCanvas(int columns, int rows, Cells cells);

  int width() const { return columns_ * dots_x_; }  // in dots
  int height() const { return rows_ * dots_y_; }

  // Dots outside the canvas are left out. `owner` is the number of the curve; a cell belongs to the
  // curve that drew into it last.
  void Line(Dot from, Dot to, Pen& pen, int owner);
  void Point(Dot at, int owner);
  // A character instead of the dots of a cell. It stays, whatever is drawn there later.
  void Mark(Dot at, char sign, int owner);

  struct Cell {
    std::string text;  // one column wide; " " where nothing was drawn
    int owner = -1;
  };
  Cell At(int column, int row) const;

 private:
  size_t IndexOf(Dot at) const;

  int columns_;
  int rows_;
  Cells cells_;
  int dots_x_;
  int dots_y_;
  std::vector<uint8_t> dots_;  // by cell, a bit for each dot: row by row from the top left one
  std::vector<int> owners_;
  std::vector<char> marks_;  // 0: none
};

}  // namespace gp::gpctl
