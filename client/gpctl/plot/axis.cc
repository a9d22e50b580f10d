#include "client/gpctl/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "base/text/thousands.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr double kTimeSteps[] = {1,   2,    5,    10,   15,    30,    60,    120,   300,    600,
                                 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000};

// The smallest of 1, 2 and 5 times a power of ten that is not below `least`.
double RoundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double TickStep(const Axis& axis, double least) {
  if (axis.kind == AxisKind::kTime && least >= 1) {
    for (const double step : kTimeSteps) {
      if (step >= least) return step;
    }
    return 86400 * RoundStep(least / 86400);
  }
  const double step = RoundStep(least);
  const bool whole = axis.kind == AxisKind::kSteps || axis.kind == AxisKind::kTokens;
  return whole ? std::max(step, 1.0) : step;
}

// Digits after the point that a multiple of `step` needs.
int DecimalsOf(double step) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
}

// "1.5k", "250M": a value in the unit that fits `largest`, with the digits that `step` needs.
std::string WithUnit(double value, double step, double largest) {
  static constexpr const char* kUnits[] = {"", "k", "M", "B", "T"};
  size_t unit = 0;
  double size = 1;
  while (largest / size >= 1000 && unit + 1 < std::size(kUnits)) {
    size *= 1000;
    ++unit;
  }
  if (value == 0) return "0";
  return fmt::format("{:.{}f}{}", value / size, DecimalsOf(step / size), kUnits[unit]);
}

std::string TimeTick(double seconds, double step) {
  if (seconds == 0) return "0";
  if (step < 1) return fmt::format("{:.{}f}s", seconds, DecimalsOf(step));
  const auto total = std::llround(seconds);
  const int64_t days = total / 86400;
  const int64_t hours = total / 3600 % 24;
  const int64_t minutes = total / 60 % 60;
  const int64_t left = total % 60;
  std::string text;
  if (days > 0) text += fmt::format("{}d", days);
  if (hours > 0) text += fmt::format("{}h", hours);
  if (minutes > 0) text += fmt::format("{}m", minutes);
  if (left > 0) text += fmt::format("{}s", left);
  return text;
}

std::string NumberTick(double value, double step, const AxisRange& range) {
  const double largest = std::max(std::fabs(range.low), std::fabs(range.high));
  if (largest >= 10'000) return WithUnit(value, step, largest);
  if (largest >= 1e-3) return fmt::format("{:.{}f}", value == 0 ? 0.0 : value, DecimalsOf(step));
  if (value == 0) return "0";
  const int power = static_cast<int>(std::floor(std::log10(std::fabs(value)) + 1e-9));
  const int digits =
      std::clamp(power - static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 6);
  return fmt::format("{:.{}e}", value, digits);
}

std::string TickText(const Axis& axis, double value, double step) {
  const double largest = std::max(std::fabs(axis.range.low), std::fabs(axis.range.high));
  switch (axis.kind) {
    case AxisKind::kTime:
      return TimeTick(value, step);
    case AxisKind::kSteps:
      return largest < 100'000 ? WithThousands(std::llround(value))
                               : WithUnit(value, step, largest);
    case AxisKind::kTokens:
      return WithUnit(value, step, largest);
    case AxisKind::kNumber:
      break;
  }
  return NumberTick(value, step, axis.range);
}

std::vector<Tick> EvenTicks(const Axis& axis, int count_max) {
  const double span = axis.range.high - axis.range.low;
  double step = TickStep(axis, span / std::max(count_max, 1));
  if (!(step > 0) || !std::isfinite(step)) return {};
  // A step that is slightly too small may give one tick too many.
  const auto count = [&axis](double of) {
    return std::floor(axis.range.high / of + 1e-9) - std::ceil(axis.range.low / of - 1e-9) + 1;
  };
  while (count(step) > count_max) step = TickStep(axis, step * 1.01);
  std::vector<Tick> ticks;
  const double first = std::ceil(axis.range.low / step - 1e-9);
  for (int i = 0; i < static_cast<int>(count(step)); ++i) {
    const double value = (first + i) * step;
    ticks.push_back({value, TickText(axis, value, step)});
  }
  return ticks;
}

std::string LogTickText(double value) {
  if (value >= 10'000) return WithUnit(value, std::pow(10, std::floor(std::log10(value))), value);
  if (value >= 1e-3)
    return fmt::format("{:.{}f}", value,
                       DecimalsOf(std::pow(10, std::floor(std::log10(value) + 1e-9))));
  return fmt::format("{:.0e}", value);
}

std::vector<Tick> PowerTicks(const AxisRange& range, std::initializer_list<double> factors,
                             int stride) {
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::ceil(std::log10(range.high)));
  for (int power = first; power <= last; ++power) {
    if ((power % stride + stride) % stride != 0) continue;
    for (const double factor : factors) {
      const double value = factor * std::pow(10, power);
      const bool inside = value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9);
      if (inside) ticks.push_back({value, LogTickText(value)});
    }
  }
  return ticks;
}

std::vector<Tick> LogTicks(const Axis& axis, int count_max) {
  for (const auto& factors :
       {std::initializer_list<double>{1, 2, 3, 4, 5, 6, 7, 8, 9},
        std::initializer_list<double>{1, 2, 5}, std::initializer_list<double>{1}}) {
    std::vector<Tick> ticks = PowerTicks(axis.range, factors, 1);
    if (static_cast<int>(ticks.size()) > count_max) continue;
    // A range of less than a decade may contain no such value.
    return ticks.size() >= 2 ? ticks : EvenTicks(axis, count_max);
  }
  for (int stride = 2; stride <= 308; ++stride) {
    std::vector<Tick> ticks = PowerTicks(axis.range, {1}, stride);
    if (static_cast<int>(ticks.size()) <= count_max) return ticks;
  }
  return {};
}

}  // namespace

double Axis::PlaceOf(double value) const {
  if (!log) return (value - range.low) / (range.high - range.low);
  return (std::log(value) - std::log(range.low)) / (std::log(range.high) - std::log(range.low));
}

AxisRange Widened(AxisRange range, bool log) {
  if (range.low < range.high) return range;
  const double value = range.low;
  if (log) return {value / 2, value * 2};
  const double pad = value == 0 ? 1 : std::fabs(value) * 0.05;
  return {value - pad, value + pad};
}

std::vector<Tick> TicksOf(const Axis& axis, int count_max) {
  if (count_max < 1) return {};
  return axis.log ? LogTicks(axis, count_max) : EvenTicks(axis, count_max);
}

std::string AxisName(AxisKind kind) {
  switch (kind) {
    case AxisKind::kSteps:
      return "steps";
    case AxisKind::kTokens:
      return "tokens";
    case AxisKind::kTime:
      return "time";
    case AxisKind::kNumber:
      break;
  }
  return "";
}

std::string PlaceText(double x, AxisKind kind) {
  switch (kind) {
    case AxisKind::kSteps:
      return "step " + WithThousands(std::llround(x));
    case AxisKind::kTokens:
      return CompactCount(x) + " tokens";
    case AxisKind::kTime:
      return StepTimeText(x);
    case AxisKind::kNumber:
      break;
  }
  return fmt::format("{}", x);
}

}  // namespace gp::gpctl
