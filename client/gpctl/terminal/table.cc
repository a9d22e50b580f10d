#include "client/gpctl/terminal/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  GP_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<int> Table::ColumnWidths() const {
  std::vector<int> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    int widest = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, DisplayWidth(row[i]));
    widths.push_back(widest);
  }
  return widths;
}

std::string Table::RenderRow(const std::vector<std::string>& cells, const std::vector<int>& widths,
                             int width, bool utf8) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += columns_[i].align == Align::kRight ? PadLeft(cells[i], widths[i])
                                               : PadRight(cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return width > 0 ? CutToWidth(line, width, utf8) : line;
}

std::string Table::Render(int width, bool utf8) const {
  const std::vector<int> widths = ColumnWidths();
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = RenderRow(titles, widths, width, utf8) + "\n";
  for (const auto& row : rows_) out += RenderRow(row, widths, width, utf8) + "\n";
  return out;
}

}  // namespace gp::gpctl
