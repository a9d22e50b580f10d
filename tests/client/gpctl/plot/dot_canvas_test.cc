#include "client/gpctl/plot/dot_canvas.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

std::string Row(const DotCanvas& canvas, int row, int columns) {
  std::string text;
  for (int column = 0; column < columns; ++column) text += canvas.At(column, row).text;
  return text;
}

TEST(DotCanvas, HasEightDotsInABrailleCell) {
  DotCanvas canvas(2, 1, DotCanvas::Cells::kBraille);
  EXPECT_EQ(canvas.width(), 4);
  EXPECT_EQ(canvas.height(), 4);
  canvas.Line({0, 0}, {0, 3}, 0);
  EXPECT_EQ(Row(canvas, 0, 2), "⡇ ");
  canvas.Line({0, 3}, {3, 0}, 1);
  EXPECT_EQ(Row(canvas, 0, 2), "⡧⠊");
  EXPECT_EQ(canvas.At(0, 0).owner, 1) << "the curve that drew last";
}

TEST(DotCanvas, HasThreeRowsInAnAsciiCell) {
  DotCanvas canvas(3, 1, DotCanvas::Cells::kAscii);
  canvas.Line({0, 0}, {2, 2}, 0);
  EXPECT_EQ(Row(canvas, 0, 3), "'-.");
}

TEST(DotCanvas, AMarkStays) {
  DotCanvas canvas(1, 1, DotCanvas::Cells::kBraille);
  canvas.Mark({0, 0}, 'x', 3);
  canvas.Point({0, 0}, 1);
  EXPECT_EQ(canvas.At(0, 0).text, "x");
  EXPECT_EQ(canvas.At(0, 0).owner, 3);
}

TEST(DotCanvas, LeavesOutDotsOutsideIt) {
  DotCanvas canvas(1, 1, DotCanvas::Cells::kBraille);
  canvas.Line({-5, -5}, {9, 9}, 0);
  canvas.Mark({7, 0}, 'x', 0);
  EXPECT_EQ(Row(canvas, 0, 1), "⠑");
}

}  // namespace
}  // namespace gp::gpctl
