#include "base/text/thousands.h"

#include <fmt/format.h>

namespace gp {

std::string WithThousands(int64_t value) {
  std::string digits = fmt::format("{}", value < 0 ? -static_cast<uint64_t>(value) : value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return (value < 0 ? "-" : "") + digits;
}

}  // namespace gp
