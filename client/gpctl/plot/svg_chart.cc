#include "client/gpctl/plot/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text/utf8.h"
#include "client/gpctl/plot/line_ends.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr double kWidth = 960;
constexpr double kOuter = 24;  // the margin of the picture
constexpr double kFontPixels = 13;
constexpr double kLabelPixels = 16;  // the smallest distance of two labels
constexpr double kLabelsMax = 230;   // the widest label
constexpr double kMarkSize = 3.5;    // half the width of the mark of a gap
constexpr double kKeyPixels = 18;    // the sample of a line before its label
constexpr double kMarkPixels = 12;   // marks of a curve that are closer are one
constexpr size_t kDotsMax = 80;      // an evaluation curve with at most as many points shows them

// About the width of DejaVu Sans, the widest of the fonts that the picture asks for.
double TextPixels(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const auto code = TakeCodePoint(text);
    if (!code) text.remove_prefix(1);
    const char32_t c = code.value_or(U'?');
    if (c >= 0x1100) {
      width += 1;
    } else if (std::u32string_view(U"ijlI.,:;'|!()[] t").find(c) != std::u32string_view::npos) {
      width += 0.39;
    } else if (std::u32string_view(U"mwMW@%").find(c) != std::u32string_view::npos) {
      width += 0.95;
    } else {
      width += 0.64;
    }
  }
  return width * size;
}

std::string Fitted(const std::string& text, double pixels) {
  std::string fitted = text;
  for (int columns = DisplayWidth(text); columns > 1 && TextPixels(fitted, kFontPixels) > pixels;) {
    fitted = CutMiddleToWidth(text, --columns, true);
  }
  return fitted;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : OneSafeLine(text, true)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Place(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

// The attributes of a line of this stroke.
const char* DashesOf(Stroke stroke) {
  switch (stroke) {
    case Stroke::kDashed:
      return " stroke-dasharray=\"6 4\"";
    case Stroke::kDotted:
      return " stroke-dasharray=\"0.1 4.5\" stroke-linecap=\"round\"";
    case Stroke::kDashDotted:
      return " stroke-dasharray=\"7 4.5 0.1 4.5\" stroke-linecap=\"round\"";
    case Stroke::kSolid:
      break;
  }
  return "";
}

struct Box {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
};

// A panel with its place in the picture.
struct Panel {
  const Chart& chart;
  ChartAxes axes;
  Box box;
  std::vector<Tick> y_ticks;

  double ToX(double x) const { return box.left + axes.x.PlaceOf(x) * (box.right - box.left); }
  double ToY(double y) const { return box.bottom - axes.y.PlaceOf(y) * (box.bottom - box.top); }
};

// The last point of a curve that is drawn, and where its label goes.
struct LineEnd {
  const Curve* curve = nullptr;
  double x = 0;
  double y = 0;
  double label = 0;
};

class SvgWriter {
 public:
  SvgWriter(const SvgPicture& picture, const SvgTheme& theme) : picture_(picture), theme_(theme) {}

  std::string Write() {
    PlacePanels();
    AddHead();
    for (const Panel& panel : panels_) AddPanel(panel);
    AddXAxis(panels_.back());
    double y = height_ - kOuter + 4 - 18 * (static_cast<double>(picture_.notes.size()) - 1);
    for (const std::string& note : picture_.notes) {
      AddText(kOuter, y, note, theme_.muted, "");
      y += 18;
    }
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" role=\"img\" font-family=\"system-ui, -apple-system, "
               "'Segoe "
               "UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif\" font-size=\"{2}\">\n"
               "<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"{4}\"/>\n",
               Place(kWidth), Place(height_), kFontPixels, Escaped(picture_.title),
               theme_.surface) +
           out_ + "</svg>\n";
  }

 private:
  void PlacePanels() {
    double left = 0;
    double label = 0;
    size_t labels_max = 0;
    const double height = picture_.panels.size() == 1   ? 380
                          : picture_.panels.size() == 2 ? 250
                                                        : 190;
    for (const Chart& chart : picture_.panels) {
      Panel& panel = panels_.emplace_back(Panel{chart, AxesOf(chart), {}, {}});
      panel.y_ticks = TicksOf(panel.axes.y, static_cast<int>(height / 38));
      for (const Tick& tick : panel.y_ticks) {
        left = std::max(left, TextPixels(tick.text, kFontPixels));
      }
      size_t labels = 0;
      for (const Curve& curve : chart.curves) {
        if (curve.label.empty()) continue;
        label = std::max(label, std::min(TextPixels(curve.label, kFontPixels), kLabelsMax));
        ++labels;
      }
      labels_max = std::max(labels_max, labels);
    }
    const double room = std::max(height, kLabelPixels * static_cast<double>(labels_max));
    double top = kOuter + 28 + (picture_.subtitle.empty() ? 0 : 20);
    for (Panel& panel : panels_) {
      top += 30;
      panel.box = {kOuter + left + 10, kWidth - kOuter - (label > 0 ? label + kKeyPixels + 12 : 0),
                   top, top + room};
      top += room;
    }
    height_ = top + 62 + 18 * static_cast<double>(picture_.notes.size());
  }

  void AddHead() {
    AddText(kOuter, kOuter + 12, Fitted(picture_.title, 1000), theme_.text,
            " font-size=\"18\" font-weight=\"650\"");
    if (!picture_.subtitle.empty()) {
      AddText(kOuter, kOuter + 34, picture_.subtitle, theme_.muted, "");
    }
  }

  void AddText(double x, double y, std::string_view text, const char* fill,
               std::string_view attributes) {
    out_ += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\"{}>{}</text>\n", Place(x), Place(y),
                        fill, attributes, Escaped(text));
  }

  void AddLine(double x1, double y1, double x2, double y2, const char* stroke) {
    out_ += fmt::format("<path d=\"M{} {}L{} {}\" stroke=\"{}\"/>\n", Place(x1), Place(y1),
                        Place(x2), Place(y2), stroke);
  }

  const char* ColorOf(const Curve& curve) const {
    return theme_.series[static_cast<size_t>(curve.color) % theme_.series.size()];
  }

  void AddPanel(const Panel& panel) {
    const Box& box = panel.box;
    AddText(kOuter, box.top - 10, panel.chart.title, theme_.text, " font-weight=\"600\"");
    for (const Tick& tick : panel.y_ticks) {
      AddLine(box.left, panel.ToY(tick.value), box.right, panel.ToY(tick.value), theme_.line);
      AddText(box.left - 8, panel.ToY(tick.value) + 4.5, tick.text, theme_.muted,
              " text-anchor=\"end\"");
    }
    AddLine(box.left, box.bottom, box.right, box.bottom, theme_.muted);
    // The first curve is drawn last, so that it is on top; faint ones are below all others.
    for (const bool faint : {true, false}) {
      for (auto it = panel.chart.curves.rbegin(); it != panel.chart.curves.rend(); ++it) {
        if (it->faint == faint) AddCurve(*it, panel);
      }
    }
    AddLineEnds(panel);
  }

  void AddCurve(const Curve& curve, const Panel& panel) {
    std::string path;
    std::string dots;
    const bool has_dots = curve.stroke != Stroke::kSolid && curve.x.size() <= kDotsMax;
    size_t drawn = 0;  // points since the last gap
    const auto add_dot = [&](size_t i) {
      dots +=
          fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2.4\" fill=\"{}\"/>\n",
                      Place(panel.ToX(curve.x[i])), Place(panel.ToY(curve.y[i])), ColorOf(curve));
    };
    for (size_t i = 0; i < curve.x.size(); ++i) {
      if (!IsDrawable(curve.y[i], panel.chart.log)) {
        // A point between two gaps has no line.
        if (drawn == 1 && !has_dots) add_dot(i - 1);
        drawn = 0;
        continue;
      }
      path += fmt::format("{}{} {}", drawn == 0 ? "M" : "L", Place(panel.ToX(curve.x[i])),
                          Place(panel.ToY(curve.y[i])));
      if (has_dots) add_dot(i);
      ++drawn;
    }
    if (drawn == 1 && !has_dots) add_dot(curve.x.size() - 1);
    if (!path.empty()) {
      out_ += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\" "
          "stroke-linejoin=\"round\"{}/>\n",
          path, ColorOf(curve), curve.faint ? "1" : "1.8", curve.faint ? "0.3" : "1",
          DashesOf(curve.stroke));
    }
    out_ += dots;
    if (!curve.faint) AddGapMarks(curve, panel);
  }

  void AddGapMarks(const Curve& curve, const Panel& panel) {
    double last = -kMarkPixels;
    for (size_t i = 0; i < curve.x.size(); ++i) {
      const double x = panel.ToX(curve.x[i]);
      if (IsDrawable(curve.y[i], false) || x - last < kMarkPixels) continue;
      last = x;
      const bool below = curve.y[i] < 0;
      const double y = below ? panel.box.bottom - 2 * kMarkSize : panel.box.top + 2 * kMarkSize;
      const double s = kMarkSize;
      const double tip = below ? s : -s;
      const std::string path =
          std::isnan(curve.y[i])
              ? fmt::format("M{} {}L{} {}M{} {}L{} {}", Place(x - s), Place(y - s), Place(x + s),
                            Place(y + s), Place(x - s), Place(y + s), Place(x + s), Place(y - s))
              : fmt::format("M{} {}L{} {}L{} {}Z", Place(x - s), Place(y - tip), Place(x),
                            Place(y + tip), Place(x + s), Place(y - tip));
      out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n",
                          path, ColorOf(curve));
    }
  }

  std::vector<LineEnd> EndsOf(const Panel& panel) const {
    std::vector<LineEnd> ends;
    std::vector<double> places;
    for (const Curve& curve : panel.chart.curves) {
      if (curve.label.empty()) continue;
      LineEnd end{&curve, panel.box.right, panel.box.top, 0};
      for (size_t i = curve.x.size(); i-- > 0;) {
        if (!IsDrawable(curve.y[i], panel.chart.log)) continue;
        end.x = panel.ToX(curve.x[i]);
        end.y = panel.ToY(curve.y[i]);
        break;
      }
      ends.push_back(end);
      places.push_back(end.y);
    }
    places = SpreadPlaces(std::move(places), kLabelPixels, panel.box.top + 4, panel.box.bottom - 4);
    for (size_t i = 0; i < ends.size(); ++i) ends[i].label = places[i];
    return ends;
  }

  void AddLineEnds(const Panel& panel) {
    const double right = panel.box.right;
    for (const LineEnd& end : EndsOf(panel)) {
      const char* color = ColorOf(*end.curve);
      if (right - end.x > 1 || std::fabs(end.label - end.y) > 1) {
        out_ += fmt::format(
            "<path d=\"M{} {}L{} {}L{} {}\" fill=\"none\" stroke=\"{}\" stroke-dasharray=\"2 3\" "
            "stroke-opacity=\"0.55\"/>\n",
            Place(end.x), Place(end.y), Place(std::max(end.x, right)), Place(end.y),
            Place(right + 8), Place(end.label), color);
      }
      out_ += fmt::format("<path d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-width=\"3\"{}/>\n",
                          Place(right + 8), Place(end.label), Place(right + 8 + kKeyPixels),
                          Place(end.label), color, DashesOf(end.curve->stroke));
      AddText(right + kKeyPixels + 12, end.label + 4.5, Fitted(end.curve->label, kLabelsMax),
              theme_.text, "");
    }
  }

  void AddXAxis(const Panel& last) {
    for (const Tick& tick : TicksOf(last.axes.x, 8)) {
      for (const Panel& panel : panels_) {
        const double x = panel.ToX(tick.value);
        AddLine(x, panel.box.bottom, x, panel.box.bottom + 5, theme_.muted);
      }
      AddText(last.ToX(tick.value), last.box.bottom + 20, tick.text, theme_.muted,
              " text-anchor=\"middle\"");
    }
    AddText((last.box.left + last.box.right) / 2, last.box.bottom + 42, AxisName(last.axes.x.kind),
            theme_.muted, " text-anchor=\"middle\"");
  }

  const SvgPicture& picture_;
  const SvgTheme& theme_;
  std::vector<Panel> panels_;
  double height_ = 0;
  std::string out_;
};

}  // namespace

std::string SvgText(const SvgPicture& picture, const SvgTheme& theme) {
  return SvgWriter(picture, theme).Write();
}

}  // namespace gp::gpctl
