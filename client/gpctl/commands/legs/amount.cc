#include "client/gpctl/commands/legs/amount.h"

#include <charconv>

#include "runspec/schema.h"

namespace gp::gpctl {

StatusOr<Amount> ParseAmount(const std::string& flag, const std::string& text) {
  Amount amount{.more = text.starts_with('+')};
  const char* begin = text.data() + (amount.more ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, amount.value);
  // A number that is added to a total of a run file is at most that large, too, so the sum fits.
  const auto max = static_cast<int64_t>(
      runspec::FindField(flag == "--steps" ? "budget.steps" : "budget.tokens")->max);
  if (error == std::errc::result_out_of_range || (error == std::errc() && amount.value > max)) {
    return InvalidArgument(
        "{} {}: too large; expected at most {}: the total, such as 500, or what "
        "is added, such as +200",
        flag, text, max);
  }
  if (error == std::errc() && rest == end && amount.value > 0) return amount;
  return InvalidArgument("{} {}: expected the total, such as 500, or what is added, such as +200",
                         flag, text);
}

}  // namespace gp::gpctl
