#include "worker/bench/ladder_chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace gp::engine {
namespace {

// All sizes are in pixels. A row shows the rung's name above its setting, then the bar, then the
// numbers.
constexpr double kWidth = 960;
constexpr double kTop = 84;
constexpr double kRow = 40;
constexpr double kNameRight = 250;
constexpr double kBarLeft = 264;
constexpr double kBarWidth = 380;
constexpr double kBarHeight = 20;

constexpr char kStyle[] = R"(<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .title { font-size: 18px; font-weight: 600; }
  .small { font-size: 11px; fill: #59636e; }
  .gain { font-weight: 600; }
  .paper { fill: #ffffff; }
  .axis { stroke: #d1d9e0; }
  .bar { fill: #2f6feb; }
  .unkept { fill: #b6bfc9; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9aa4af; }
    .paper { fill: #0d1117; }
    .axis { stroke: #3d444d; }
    .bar { fill: #4c8dff; }
    .unkept { fill: #57606a; }
  }
</style>
)";

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
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
      default:
        out += c;
    }
  }
  return out;
}

std::string Text(double x, double y, const std::string& classes, const std::string& anchor,
                 const std::string& text) {
  return fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)"
                     "\n",
                     classes, x, y, anchor, Escaped(text));
}

std::string Milliseconds(double ms) {
  return ms < 100 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.0f} ms", ms);
}

std::string Numbers(const RungResult& rung) {
  return fmt::format("{} · {:.2f} GB · MFU {:.0f} %", Milliseconds(rung.step_ms.median),
                     static_cast<double>(rung.resident_bytes) / 1e9, 100 * rung.mfu);
}

std::string Gain(const RungResult& rung) {
  return fmt::format("{:.0f} tok/s  ×{:.2f}{}", rung.tokens_per_second, rung.gain,
                     rung.kept ? "" : ", not kept");
}

std::string Row(const RungResult& rung, double y, double rate_max) {
  std::string svg = Text(kNameRight, y + 13, "", "end", rung.name);
  svg += Text(kNameRight, y + 28, "small", "end", rung.setting);
  if (!rung.reason.empty()) {
    return svg + Text(kBarLeft + 8, y + 13, "small", "start", "not measured: " + rung.reason);
  }
  const double width = std::max(2.0, kBarWidth * rung.tokens_per_second / rate_max);
  svg += fmt::format(
      R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>)"
      "\n",
      rung.kept ? "bar" : "unkept", kBarLeft, y + 4, width, kBarHeight);
  svg += Text(kBarLeft + width + 8, y + 13, "gain", "start", Gain(rung));
  return svg + Text(kBarLeft + width + 8, y + 28, "small", "start", Numbers(rung));
}

double RateMax(const std::vector<RungResult>& rungs) {
  double most = 1;
  for (const RungResult& rung : rungs) most = std::max(most, rung.tokens_per_second);
  return most;
}

}  // namespace

std::string LadderChart(const std::vector<RungResult>& rungs, const std::string& subtitle) {
  const double height = kTop + kRow * static_cast<double>(rungs.size()) + 16;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img">)"
      "\n<title>Tokens per second, rung by rung</title>\n{2}"
      R"(<rect class="paper" width="{0:.0f}" height="{1:.0f}"/>)"
      "\n",
      kWidth, height, kStyle);
  svg += Text(24, 34, "title", "start", "The ladder: tokens per second, rung by rung");
  svg += Text(24, 56, "small", "start", subtitle);
  svg += fmt::format(R"(<line class="axis" x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}"/>)"
                     "\n",
                     kBarLeft, kTop - 6, height - 12);
  double y = kTop;
  for (const RungResult& rung : rungs) {
    svg += Row(rung, y, RateMax(rungs));
    y += kRow;
  }
  return svg + "</svg>\n";
}

}  // namespace gp::engine
