#include "client/gpctl/plot/terminal_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "client/gpctl/plot/dot_canvas.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr int kLeastColumns = 8;  // of the canvas
constexpr int kLeastRows = 2;
constexpr int kFaintCode = 90;  // bright black, readable on dark and on light
// Bright blue, yellow, cyan, magenta, red, green: any two neighbours differ for people who are
// colour-blind, on dark and on light.
constexpr int kCurveCodes[kCurveColorCount] = {94, 33, 36, 35, 31, 32, 96, 95};
constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz";

std::string Painted(const std::string& text, int code) {
  return code == 0 || text.empty() ? text : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// Whether the legend has the curve.
bool IsNamed(const Curve& curve) { return !curve.faint && !curve.label.empty(); }

// What the legend shows of a line.
std::string StrokeText(Stroke stroke, bool utf8) {
  switch (stroke) {
    case Stroke::kDashed:
      return utf8 ? "╌╌" : "- -";
    case Stroke::kDotted:
      return utf8 ? "··" : "...";
    case Stroke::kDashDotted:
      return utf8 ? "─·" : "-.-";
    case Stroke::kSolid:
      break;
  }
  return utf8 ? "──" : "---";
}

// Gaps are wide enough to leave out at least a whole cell.
Pen PenOf(Stroke stroke, bool braille) {
  switch (stroke) {
    case Stroke::kDashed:
      return Pen(braille ? std::vector{6, 6} : std::vector{3, 3});
    case Stroke::kDotted:
      return Pen(braille ? std::vector{1, 3} : std::vector{1, 2});
    case Stroke::kDashDotted:
      return Pen(braille ? std::vector{7, 4, 1, 4} : std::vector{4, 2, 1, 2});
    case Stroke::kSolid:
      break;
  }
  return Pen();
}

class TerminalChart {
 public:
  TerminalChart(const Chart& chart, ChartSize size, const ChartStyle& style)
      : chart_(chart), size_(size), style_(style), axes_(AxesOf(chart)) {
    const auto shown = std::count_if(chart.curves.begin(), chart.curves.end(),
                                     [](const Curve& curve) { return IsNamed(curve); });
    const bool colors_repeat =
        std::any_of(chart.curves.begin(), chart.curves.end(),
                    [](const Curve& curve) { return curve.color >= int{kCurveColorCount}; });
    has_letters_ = shown > 1 && (!style.color || colors_repeat);
  }

  std::vector<std::string> Lines() {
    if (size_.columns < 1 || size_.rows < 1) return {};
    legend_ = LegendLines();
    int rows = size_.rows;
    has_x_axis_ = rows >= kLeastRows + 2;
    if (has_x_axis_) rows -= 2;
    // The least important lines are left out first: the legend, then the title.
    const bool has_title = rows > kLeastRows;
    if (has_title) --rows;
    const int legend = std::clamp(rows - 2 * kLeastRows, 0, static_cast<int>(legend_.size()));
    legend_.resize(legend);
    rows -= legend;
    y_ticks_ = TicksOf(axes_.y, std::max(rows / 3, 2));
    for (const Tick& tick : y_ticks_) {
      gutter_ = std::max(gutter_, static_cast<int>(tick.text.size()) + 2);
    }
    columns_ = size_.columns - gutter_;
    if (columns_ < kLeastColumns || rows < kLeastRows) return Words();
    std::vector<std::string> lines;
    if (has_title) lines.push_back(TitleLine());
    AddCanvas(rows, lines);
    if (has_x_axis_) AddXAxis(lines);
    lines.insert(lines.end(), legend_.begin(), legend_.end());
    return lines;
  }

 private:
  int CodeOf(int curve) const {
    if (!style_.color || curve < 0) return 0;
    const Curve& one = chart_.curves[curve];
    return one.faint ? kFaintCode : kCurveCodes[one.color % std::size(kCurveCodes)];
  }

  // A curve without a label has the letter of the one before it, as a capital.
  char LetterOf(int curve) const {
    int letter = 0;
    for (int i = 1; i <= curve; ++i) letter += IsNamed(chart_.curves[i]) ? 1 : 0;
    const char found = kLetters[letter % (std::size(kLetters) - 1)];
    return IsNamed(chart_.curves[curve]) ? found : static_cast<char>(found - 'a' + 'A');
  }

  std::string Cut(const std::string& text) const {
    return CutToWidth(OneSafeLine(text, style_.utf8), size_.columns, style_.utf8);
  }

  // The title, and the name of the x axis at the right end.
  std::string TitleLine() const {
    const std::string name = AxisName(axes_.x.kind) + (style_.utf8 ? " →" : " ->");
    const std::string title = Cut(chart_.title);
    const int room = size_.columns - DisplayWidth(title) - DisplayWidth(name);
    return room < 2 || axes_.x.kind == AxisKind::kNumber ? title
                                                         : title + std::string(room, ' ') + name;
  }

  // Shown if there is no room for curves.
  std::vector<std::string> Words() const {
    std::vector<std::string> lines = {Cut(chart_.title)};
    for (const Curve& curve : chart_.curves) {
      if (static_cast<int>(lines.size()) >= size_.rows) break;
      if (IsNamed(curve)) lines.push_back(Cut(curve.label + LastValueText(curve)));
    }
    return lines;
  }

  std::string LastValueText(const Curve& curve) const {
    return curve.y.empty() ? " -" : fmt::format(" {:.4g}", curve.y.back());
  }

  std::vector<std::string> LegendLines() const {
    std::vector<std::string> lines;
    int used = 0;
    for (size_t i = 0; i < chart_.curves.size(); ++i) {
      const Curve& curve = chart_.curves[i];
      if (!IsNamed(curve)) continue;
      const std::string mark = has_letters_ ? std::string(1, LetterOf(static_cast<int>(i)))
                                            : StrokeText(curve.stroke, style_.utf8);
      const std::string value = LastValueText(curve);
      const int room = size_.columns - DisplayWidth(mark) - 1 - static_cast<int>(value.size());
      if (room < 1) continue;
      const std::string text =
          CutMiddleToWidth(OneSafeLine(curve.label, style_.utf8), room, style_.utf8) + value;
      const int width = DisplayWidth(mark) + 1 + DisplayWidth(text);
      if (lines.empty() || used + 3 + width > size_.columns) {
        lines.emplace_back();
        used = 0;
      }
      if (used > 0) lines.back() += "   ";
      used += (used > 0 ? 3 : 0) + width;
      lines.back() += Painted(mark, CodeOf(static_cast<int>(i))) + " " + text;
    }
    return lines;
  }

  Dot PlaceOf(double x, double y, const DotCanvas& canvas) const {
    const double right = axes_.x.PlaceOf(x) * (canvas.width() - 1);
    const double down = (1 - axes_.y.PlaceOf(y)) * (canvas.height() - 1);
    return {static_cast<int>(std::lround(right)), static_cast<int>(std::lround(down))};
  }

  void DrawCurve(int number, DotCanvas& canvas) const {
    const Curve& curve = chart_.curves[number];
    Pen pen = PenOf(curve.stroke, style_.utf8);
    std::optional<Dot> before;
    for (size_t i = 0; i < curve.x.size(); ++i) {
      const double y = curve.y[i];
      if (!IsDrawable(y, chart_.log)) {
        before.reset();
        if (!IsDrawable(y, false) && !curve.faint) MarkGap(curve.x[i], y, number, canvas);
        continue;
      }
      const Dot at = PlaceOf(curve.x[i], y, canvas);
      if (before) {
        canvas.Line(*before, at, pen, number);
      } else {
        canvas.Point(at, number);
      }
      before = at;
    }
  }

  void MarkGap(double x, double y, int number, DotCanvas& canvas) const {
    const int column = static_cast<int>(std::lround(axes_.x.PlaceOf(x) * (canvas.width() - 1)));
    const bool below = y < 0;
    canvas.Mark({column, below ? canvas.height() - 1 : 0},
                std::isnan(y) ? 'x'
                : below       ? 'v'
                              : '^',
                number);
  }

  // The row of the canvas for a value of the y axis.
  int RowOf(double value, int rows) const {
    return std::clamp(static_cast<int>(std::lround((1 - axes_.y.PlaceOf(value)) * (rows - 1))), 0,
                      rows - 1);
  }

  // The curves in the order in which they are drawn, the topmost last: faint ones, then those with
  // a point in every column, then sparse ones, which the others would hide. Of equal ones the first
  // is on top.
  std::vector<int> FromTheLowest() const {
    std::vector<int> order(chart_.curves.size());
    std::iota(order.rbegin(), order.rend(), 0);
    std::ranges::stable_sort(order, [this](int a, int b) {
      return HeightOf(chart_.curves[a]) < HeightOf(chart_.curves[b]);
    });
    return order;
  }

  int HeightOf(const Curve& curve) const {
    if (curve.faint) return 0;
    return curve.x.size() < static_cast<size_t>(columns_) ? 2 : 1;
  }

  void AddCanvas(int rows, std::vector<std::string>& lines) const {
    DotCanvas canvas(columns_, rows,
                     style_.utf8 ? DotCanvas::Cells::kBraille : DotCanvas::Cells::kAscii);
    for (const int curve : FromTheLowest()) DrawCurve(curve, canvas);
    std::vector<std::string> labels(rows);
    for (const Tick& tick : y_ticks_) labels[RowOf(tick.value, rows)] = tick.text;
    for (int row = 0; row < rows; ++row) {
      const bool has_tick = !labels[row].empty();
      const char* edge = style_.utf8 ? (has_tick ? "┤" : "│") : (has_tick ? "+" : "|");
      std::string line = PadLeft(labels[row], gutter_ - 2) + " " + edge;
      AddCells(canvas, row, line);
      lines.push_back(std::move(line));
    }
  }

  void AddCells(const DotCanvas& canvas, int row, std::string& line) const {
    int code = 0;
    std::string part;
    int blanks = 0;  // not written at the end of a line
    for (int column = 0; column < columns_; ++column) {
      const DotCanvas::Cell cell = canvas.At(column, row);
      if (cell.owner < 0) {
        ++blanks;
        continue;
      }
      if (blanks > 0 || CodeOf(cell.owner) != code) {
        line += Painted(part, code) + std::string(std::exchange(blanks, 0), ' ');
        part.clear();
        code = CodeOf(cell.owner);
      }
      const bool is_sign = cell.text == "x" || cell.text == "^" || cell.text == "v";
      const bool is_faint = chart_.curves[cell.owner].faint;
      part += has_letters_ && !is_sign ? std::string(1, is_faint ? '.' : LetterOf(cell.owner))
                                       : cell.text;
    }
    line += Painted(part, code);
  }

  void AddXAxis(std::vector<std::string>& lines) const {
    const std::vector<Tick> ticks = TicksOf(axes_.x, std::max(columns_ / 14, 1));
    std::vector<bool> marked(columns_);
    std::string labels(gutter_ - 1, ' ');
    for (const Tick& tick : ticks) {
      const int column =
          static_cast<int>(std::lround(axes_.x.PlaceOf(tick.value) * (columns_ - 1)));
      const int width = static_cast<int>(tick.text.size());
      const int at =
          std::clamp(gutter_ + column - width / 2, 0, std::max(size_.columns - width, 0));
      const int end = static_cast<int>(labels.size());
      marked[column] = true;
      if (at < end + (end > gutter_ ? 1 : 0) || at + width > size_.columns) continue;
      labels += std::string(at - end, ' ') + tick.text;
    }
    std::string axis = std::string(gutter_ - 1, ' ') + (style_.utf8 ? "└" : "+");
    for (const bool mark : marked) axis += style_.utf8 ? (mark ? "┬" : "─") : (mark ? "+" : "-");
    lines.push_back(std::move(axis));
    lines.push_back(std::move(labels));
  }

  const Chart& chart_;
  const ChartSize size_;
  const ChartStyle style_;
  const ChartAxes axes_;
  bool has_letters_ = false;
  bool has_x_axis_ = false;
  std::vector<std::string> legend_;
  std::vector<Tick> y_ticks_;
  int gutter_ = 2;   // columns left of the canvas
  int columns_ = 0;  // of the canvas
};

}  // namespace

std::vector<std::string> DrawChart(const Chart& chart, ChartSize size, const ChartStyle& style) {
  return TerminalChart(chart, size, style).Lines();
}

}  // namespace gp::gpctl
