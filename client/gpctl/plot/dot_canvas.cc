#include "client/gpctl/plot/dot_canvas.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace gp::gpctl {
namespace {

// The bits of U+2800 to U+28FF for the dots of a cell, row by row.
constexpr uint8_t kBrailleBits[] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};

std::string BrailleText(uint8_t dots) {
  uint8_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    if ((dots >> i & 1) != 0) bits |= kBrailleBits[i];
  }
  // UTF-8 of U+2800 + bits.
  return {'\xe2', static_cast<char>(0xa0 | (bits >> 6)), static_cast<char>(0x80 | (bits & 0x3f))};
}

// By the three dots of a cell, the top one in the lowest bit.
constexpr std::string_view kAsciiCells = " '-'.|_|";

}  // namespace

bool Pen::MoveTo(Dot at) {
  if (lengths_.empty()) return true;
  if (!begin_) begin_ = at;
  if (std::max(std::abs(at.x - begin_->x), std::abs(at.y - begin_->y)) >= lengths_[part_]) {
    begin_ = at;
    part_ = (part_ + 1) % lengths_.size();
  }
  return part_ % 2 == 0;
}

DotCanvas::DotCanvas(int columns, int rows, Cells cells)
    : columns_(columns),
      rows_(rows),
      cells_(cells),
      dots_x_(cells == Cells::kBraille ? 2 : 1),
      dots_y_(cells == Cells::kBraille ? 4 : 3),
      dots_(static_cast<size_t>(columns) * rows),
      owners_(dots_.size(), -1),
      marks_(dots_.size()) {}

size_t DotCanvas::IndexOf(Dot at) const {
  return static_cast<size_t>(at.y / dots_y_) * columns_ + at.x / dots_x_;
}

void DotCanvas::Point(Dot at, int owner) {
  if (at.x < 0 || at.y < 0 || at.x >= width() || at.y >= height()) return;
  const size_t cell = IndexOf(at);
  dots_[cell] |= static_cast<uint8_t>(1 << (at.y % dots_y_ * dots_x_ + at.x % dots_x_));
  if (marks_[cell] == 0) owners_[cell] = owner;
}

void DotCanvas::Line(Dot from, Dot to, Pen& pen, int owner) {
  const int steps = std::max({std::abs(to.x - from.x), std::abs(to.y - from.y), 1});
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    const Dot at{from.x + static_cast<int>((to.x - from.x) * share + (to.x < from.x ? -0.5 : 0.5)),
                 from.y + static_cast<int>((to.y - from.y) * share + (to.y < from.y ? -0.5 : 0.5))};
    if (pen.MoveTo(at)) Point(at, owner);
  }
}

void DotCanvas::Mark(Dot at, char sign, int owner) {
  if (at.x < 0 || at.y < 0 || at.x >= width() || at.y >= height()) return;
  const size_t cell = IndexOf(at);
  if (marks_[cell] != 0) return;
  marks_[cell] = sign;
  owners_[cell] = owner;
}

DotCanvas::Cell DotCanvas::At(int column, int row) const {
  const size_t cell = static_cast<size_t>(row) * columns_ + column;
  if (marks_[cell] != 0) return {std::string(1, marks_[cell]), owners_[cell]};
  if (dots_[cell] == 0) return {" ", -1};
  if (cells_ == Cells::kBraille) return {BrailleText(dots_[cell]), owners_[cell]};
  return {std::string(1, kAsciiCells[dots_[cell] & 7]), owners_[cell]};
}

}  // namespace gp::gpctl
