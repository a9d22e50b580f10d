#include "client/gpctl/terminal/number_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <string_view>

namespace gp::gpctl {
namespace {

// Three significant digits: 3.86, 48.2, 950.
std::string ThreeDigits(double value) {
  const double size = std::fabs(value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string TimeText(int64_t unix_seconds, const char* format) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format, &parts));
}

}  // namespace

std::string CompactCount(double value) {
  if (!std::isfinite(value)) return "-";
  static constexpr std::string_view kUnits[] = {"", "k", "M", "B", "T"};
  size_t unit = 0;
  while (std::fabs(value) >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value);
  return ThreeDigits(value) + std::string(kUnits[unit]);
}

std::string Bytes(uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string Percent(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }

std::string Loss(double value) { return fmt::format("{:.4f}", value); }

std::string LearningRate(double value) { return fmt::format("{:.2e}", value); }

std::string DurationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto total = static_cast<int64_t>(seconds + 0.5);
  if (total < 60) return fmt::format("{}s", total);
  if (total < 3600) return fmt::format("{}m{:02}s", total / 60, total % 60);
  if (total < 86400) return fmt::format("{}h{:02}m", total / 3600, total / 60 % 60);
  return fmt::format("{}d{:02}h", total / 86400, total / 3600 % 24);
}

std::string StepTimeText(double seconds) {
  constexpr double kLongSeconds = 100;
  if (seconds < 0) return DurationText(seconds);
  if (seconds < 1) return fmt::format("{:.3g} ms", 1000 * seconds);
  return seconds < kLongSeconds ? fmt::format("{:.3g} s", seconds) : DurationText(seconds);
}

std::string AgoText(double seconds) { return DurationText(seconds < 0 ? 0 : seconds) + " ago"; }

std::string ClockText(int64_t unix_seconds) { return TimeText(unix_seconds, "%H:%M:%S"); }

std::string DateTimeText(int64_t unix_seconds) {
  return TimeText(unix_seconds, "%Y-%m-%dT%H:%M:%SZ");
}

std::string PreciseTimeText(int64_t unix_seconds, int32_t nanoseconds) {
  return fmt::format("{}.{:03}Z", TimeText(unix_seconds, "%Y-%m-%dT%H:%M:%S"),
                     nanoseconds / 1'000'000);
}

}  // namespace gp::gpctl
