#include "base/text/counted_noun.h"

#include <fmt/format.h>

namespace gp {

namespace {

std::string WithSeparators(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string CountedNoun(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", WithSeparators(count), noun, count == 1 ? "" : "s");
}

}  // namespace gp
