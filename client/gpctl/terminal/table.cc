#include "client/gpctl/terminal/table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr int kGap = 2;
// A shortened cell keeps at least this many columns.
constexpr int kShortenedMin = 16;
// The width that other columns leave for the last one, which holds explanations and may be cut.
constexpr int kLastMin = 12;

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<Cell> cells) {
  GP_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

int Table::WidestCell(size_t column) const {
  int widest = DisplayWidth(columns_[column].title);
  for (const auto& row : rows_) widest = std::max(widest, DisplayWidth(row[column].text));
  return widest;
}

bool Table::Fits(int width) const {
  int all = kGap * (static_cast<int>(columns_.size()) - 1);
  for (size_t i = 0; i < columns_.size(); ++i) {
    all += columns_[i].shorten ? std::min(WidestCell(i), kShortenedMin) : WidestCell(i);
  }
  return all <= width;
}

Table::Layout Table::Fit(int width) const {
  Layout layout;
  for (size_t i = 0; i < columns_.size(); ++i) {
    layout.columns.push_back(i);
    layout.widths.push_back(WidestCell(i));
  }
  if (width <= 0) return layout;
  // By how much the columns exceed the width when the last one has its minimum width.
  const auto excess = [&] {
    const int last = layout.widths.back();
    const int all = std::accumulate(layout.widths.begin(), layout.widths.end(), 0) - last;
    const int least = columns_[layout.columns.back()].shorten ? last : std::min(last, kLastMin);
    return all + least + kGap * (static_cast<int>(layout.widths.size()) - 1) - width;
  };
  if (excess() <= 0) return layout;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].shorten) layout.widths[i] = std::min(layout.widths[i], kShortenedMin);
  }
  while (excess() > 0) {
    const auto least =
        std::ranges::max_element(layout.columns, {}, [&](size_t i) { return columns_[i].rank; });
    if (columns_[*least].rank == 0) break;
    layout.widths.erase(layout.widths.begin() + (least - layout.columns.begin()));
    layout.columns.erase(least);
  }
  const auto grow = [&](size_t i) {
    if (layout.widths[i] >= WidestCell(layout.columns[i]) || excess() >= 0) return false;
    ++layout.widths[i];
    return true;
  };
  // The first column names the rows; the others share what it leaves.
  while (grow(0)) {
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 1; i < layout.columns.size(); ++i) grown |= grow(i);
  }
  return layout;
}

std::string Table::RenderRow(const std::vector<Cell>& cells, const Layout& layout, int width,
                             bool utf8) const {
  std::string line;
  int used = 0;
  int spaces = 0;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const Column& column = columns_[layout.columns[i]];
    const Cell& cell = cells[layout.columns[i]];
    std::string text =
        column.shorten ? CutMiddleToWidth(cell.text, layout.widths[i], utf8) : cell.text;
    const int missing = layout.widths[i] - DisplayWidth(text);
    if (column.align == Align::kRight) spaces += missing;
    if (width > 0) text = CutToWidth(text, width - used - spaces, utf8);
    if (!text.empty()) {
      line += std::string(spaces, ' ') + Colored(text, cell.color);
      used += spaces + DisplayWidth(text);
      spaces = 0;
    }
    spaces += kGap + (column.align == Align::kLeft ? missing : 0);
  }
  return line;
}

std::string Table::Render(int width, bool utf8) const {
  const Layout layout = Fit(width);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title);
  std::string out = RenderRow(titles, layout, width, utf8) + "\n";
  for (const auto& row : rows_) out += RenderRow(row, layout, width, utf8) + "\n";
  return out;
}

}  // namespace gp::gpctl
