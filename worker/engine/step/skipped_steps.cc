#include "worker/engine/step/skipped_steps.h"

#include <charconv>
#include <system_error>

#include "base/check.h"

namespace gp::engine {
namespace {

// Takes a number from the front of `text`; 0 if there is none.
int64_t TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() ? number : 0;
}

bool TakeSign(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<SkippedSteps> SkippedSteps::Parse(std::string_view text) {
  SkippedSteps steps;
  bool more = !text.empty();
  while (more) {
    const int64_t first = TakeNumber(text);
    const int64_t last = TakeSign(text, '-') ? TakeNumber(text) : first;
    const int64_t before = steps.ranges_.empty() ? 0 : steps.ranges_.back().last;
    if (first <= before || last < first) return std::nullopt;
    steps.Add(first, last);
    more = TakeSign(text, ',');
    if (more == text.empty()) return std::nullopt;
  }
  return steps;
}

std::string SkippedSteps::Text() const {
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last > range.first) text += "-" + std::to_string(range.last);
  }
  return text;
}

void SkippedSteps::Add(int64_t first, int64_t last) {
  GP_CHECK(first >= 1 && first <= last);
  const bool adjoins = !ranges_.empty() && ranges_.back().last + 1 == first;
  GP_CHECK(ranges_.empty() || ranges_.back().last < first);
  if (adjoins) {
    ranges_.back().last = last;
  } else {
    ranges_.push_back({first, last});
  }
}

int64_t SkippedSteps::count() const {
  int64_t count = 0;
  for (const Range& range : ranges_) count += range.last - range.first + 1;
  return count;
}

}  // namespace gp::engine
