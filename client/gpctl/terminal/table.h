// Table: columns that line up. Build it, then Render once. Not thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/gpctl/terminal/color.h"

namespace gp::gpctl {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    // What to drop when the table is wider than the terminal. First, cells of columns that may be
    // shortened lose their middle. Then columns are left out, the highest rank first; a column of
    // rank 0 is never left out.
    bool shorten = false;
    int rank = 0;
  };

  struct Cell {
    Cell(const char* words) : text(words) {}
    Cell(std::string words, Color shade = Color::kNone) : text(std::move(words)), color(shade) {}

    std::string text;
    Color color = Color::kNone;
  };

  explicit Table(std::vector<Column> columns);

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<Cell> cells);

  // Whether every cell is whole at this width, except those of columns that may be shortened.
  bool Fits(int width) const;

  // Title line and rows, two spaces between columns, no trailing spaces. No line is wider than
  // `width`: when nothing else helps, the end of each line is cut. 0 means no limit.
  std::string Render(int width, bool utf8) const;

 private:
  // The columns that are shown, with their widths.
  struct Layout {
    std::vector<size_t> columns;
    std::vector<int> widths;
  };

  Layout Fit(int width) const;
  int WidestCell(size_t column) const;
  std::string RenderRow(const std::vector<Cell>& cells, const Layout& layout, int width,
                        bool utf8) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace gp::gpctl
