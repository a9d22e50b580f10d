#include "client/gpctl/terminal/sparkline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace gp::gpctl {
namespace {

constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇"};
constexpr std::string_view kAsciiBars[] = {"_", ".", "-", "=", "+", "*", "#"};
constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

// Not finite if one of the values is not, so that such a value marks its whole cell.
double MeanOf(const std::vector<double>& values, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += values[i];
  return sum / static_cast<double>(end - begin);
}

std::vector<double> Squeeze(const std::vector<double>& values, size_t cells) {
  if (values.size() <= cells) return values;
  std::vector<double> out;
  const size_t older = values.size() - 1;
  for (size_t cell = 0; cell + 1 < cells; ++cell) {
    out.push_back(MeanOf(values, older * cell / (cells - 1), older * (cell + 1) / (cells - 1)));
  }
  out.push_back(values.back());
  return out;
}

struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

ValueRange FiniteRange(const std::vector<double>& values) {
  ValueRange range;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

size_t LevelOf(double value, const ValueRange& range) {
  if (range.high <= range.low) return 0;
  return static_cast<size_t>(std::lround((value - range.low) / (range.high - range.low) * 6));
}

}  // namespace

std::string Sparkline(const std::vector<double>& values, int cells, bool utf8) {
  if (values.empty() || cells < 2) return "";
  const std::vector<double> squeezed = Squeeze(values, static_cast<size_t>(cells));
  const ValueRange range = FiniteRange(squeezed);
  std::string out;
  for (double value : squeezed) {
    if (!std::isfinite(value)) {
      out += "x";
    } else {
      out += utf8 ? kBars[LevelOf(value, range)] : kAsciiBars[LevelOf(value, range)];
    }
  }
  return out;
}

std::string ProgressBar(double fraction, int width, bool utf8) {
  const int inside = std::max(width - 2, 1);
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const int eighths = static_cast<int>(clamped * inside * 8);
  const int full = eighths / 8;
  std::string bar;
  for (int i = 0; i < full; ++i) bar += utf8 ? "█" : "#";
  int used = full;
  if (utf8 && eighths % 8 != 0) {
    bar += kEighths[eighths % 8];
    ++used;
  }
  return "[" + bar + std::string(inside - used, ' ') + "]";
}

}  // namespace gp::gpctl
