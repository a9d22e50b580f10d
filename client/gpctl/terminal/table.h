// Table: columns that line up. Build it, then Render once. Not thread-safe.
#pragma once

#include <string>
#include <vector>

namespace gp::gpctl {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns);

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<std::string> cells);

  // Title line and rows, two spaces between columns, no trailing spaces. When a row would be wider
  // than `width`, its last column is cut; 0 means no limit.
  std::string Render(int width, bool utf8) const;

 private:
  std::vector<int> ColumnWidths() const;
  std::string RenderRow(const std::vector<std::string>& cells, const std::vector<int>& widths,
                        int width, bool utf8) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gp::gpctl
