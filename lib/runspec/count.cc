#include "runspec/count.h"

#include <charconv>
#include <cmath>
#include <string>

namespace gp::runspec {
namespace {

template <typename T>
std::optional<T> ParseWhole(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// base^exponent, both plain whole numbers.
std::optional<int64_t> ParsePower(const std::string& text, size_t caret) {
  const auto base = ParseWhole<int64_t>(text.substr(0, caret));
  const auto exponent = ParseWhole<int64_t>(text.substr(caret + 1));
  if (!base || !exponent || *exponent < 0 || *exponent > 62) return std::nullopt;
  int64_t value = 1;
  for (int64_t i = 0; i < *exponent; ++i) {
    if (__builtin_mul_overflow(value, *base, &value)) return std::nullopt;
  }
  return value;
}

double TakeSuffix(std::string& text) {
  if (text.empty()) return 1;
  double factor = 1;
  switch (text.back()) {
    case 'k':
    case 'K':
      factor = 1e3;
      break;
    case 'M':
      factor = 1e6;
      break;
    case 'B':
    case 'G':
      factor = 1e9;
      break;
    case 'T':
      factor = 1e12;
      break;
    default:
      return 1;
  }
  text.pop_back();
  return factor;
}

}  // namespace

std::optional<int64_t> ParseCount(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits.push_back(c);
  }
  if (const auto whole = ParseWhole<int64_t>(digits)) return whole;
  if (const size_t caret = digits.find('^'); caret != std::string::npos) {
    return ParsePower(digits, caret);
  }
  const double factor = TakeSuffix(digits);
  const auto number = ParseWhole<double>(digits);
  if (!number) return std::nullopt;
  const double value = *number * factor;
  // 2^53: above it a double cannot represent every whole number.
  if (!(std::fabs(value) <= 9007199254740992.0)) return std::nullopt;
  const double whole = std::nearbyint(value);
  // 0.3 * 1e6 is not exact; a value within a millionth counts as the whole number.
  if (std::fabs(value - whole) > 1e-6) return std::nullopt;
  return static_cast<int64_t>(whole);
}

}  // namespace gp::runspec
