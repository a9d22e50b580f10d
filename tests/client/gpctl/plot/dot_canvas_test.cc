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
  Pen pen;
  canvas.Line({0, 0}, {0, 3}, pen, 0);
  EXPECT_EQ(Row(canvas, 0, 2), "⡇ ");
  canvas.Line({0, 3}, {3, 0}, pen, 1);
  EXPECT_EQ(Row(canvas, 0, 2), "⡧⠊");
  EXPECT_EQ(canvas.At(0, 0).owner, 1) << "the curve that drew last";
}

TEST(DotCanvas, HasThreeRowsInAnAsciiCell) {
  DotCanvas canvas(3, 1, DotCanvas::Cells::kAscii);
  Pen pen;
  canvas.Line({0, 0}, {2, 2}, pen, 0);
  EXPECT_EQ(Row(canvas, 0, 3), "'-.");
}

TEST(DotCanvas, DashesGoOnFromLineToLine) {
  DotCanvas canvas(12, 1, DotCanvas::Cells::kAscii);
  Pen pen({3, 2});
  canvas.Line({0, 1}, {3, 1}, pen, 0);
  canvas.Line({3, 1}, {4, 1}, pen, 0);
  canvas.Line({4, 1}, {11, 1}, pen, 0);
  EXPECT_EQ(Row(canvas, 0, 12), "---  ---  --");
}

TEST(DotCanvas, NoiseDoesNotShortenDashes) {
  DotCanvas canvas(12, 1, DotCanvas::Cells::kAscii);
  Pen pen({3, 3});
  for (int x = 0; x < 11; ++x) canvas.Line({x, x % 2}, {x + 1, (x + 1) % 2}, pen, 0);
  const std::string row = Row(canvas, 0, 12);
  EXPECT_EQ(row.substr(3, 3), "   ");
  EXPECT_EQ(row.substr(0, 3).find(' '), std::string::npos);
  EXPECT_EQ(row.substr(6, 3).find(' '), std::string::npos);
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
  Pen pen;
  canvas.Line({-5, -5}, {9, 9}, pen, 0);
  canvas.Mark({7, 0}, 'x', 0);
  EXPECT_EQ(Row(canvas, 0, 1), "⠑");
}

}  // namespace
}  // namespace gp::gpctl
