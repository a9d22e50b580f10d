#include "client/gpctl/commands/legs/amount.h"

#include <charconv>

namespace gp::gpctl {

StatusOr<Amount> ParseAmount(const std::string& flag, const std::string& text) {
  Amount amount{.more = text.starts_with('+')};
  const char* begin = text.data() + (amount.more ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, amount.value);
  if (error == std::errc() && rest == end && amount.value > 0) return amount;
  return InvalidArgument("{} {}: expected the total, such as 500, or what is added, such as +200",
                         flag, text);
}

}  // namespace gp::gpctl
