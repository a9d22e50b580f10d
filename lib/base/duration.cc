#include "base/duration.h"

#include <charconv>
#include <cmath>

namespace gp {
namespace {

using std::chrono::nanoseconds;

// Nanoseconds in the unit at the start of `text`, which is removed. Zero if there is none.
double TakeUnit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    double nanoseconds;
  };
  static constexpr Unit kUnits[] = {
      {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return unit.nanoseconds;
    }
  }
  return 0;
}

}  // namespace

StatusOr<nanoseconds> ParseDuration(std::string_view text) {
  const auto bad = [whole = text] {
    return InvalidArgument("'{}' is not a duration; write it like 250ms, 90s, 5m, 1h30m or 2d",
                           whole);
  };
  if (text.empty()) return bad();
  double total = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return bad();
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const double unit = TakeUnit(text);
    if (unit == 0) return bad();
    total += number * unit;
  }
  if (!(total < 9e18)) return bad();
  return nanoseconds(std::llround(total));
}

std::string FormatDuration(nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 0.9995) return fmt::format("{:.0f}ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace gp
