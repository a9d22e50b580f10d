#include "base/text/nearest_word.h"

#include <algorithm>
#include <cctype>

namespace gp {
namespace {

// A longer word is not a typing error, and the cost grows with the product of both lengths.
constexpr size_t kWordBytesMax = 100;

std::string Lower(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The only candidate that goes on after `word`: "--keep-last" for "--keep".
std::optional<std::string> OnlyLongerWord(const std::string& word,
                                          const std::vector<std::string>& candidates) {
  std::optional<std::string> only;
  for (const std::string& candidate : candidates) {
    const std::string longer = Lower(candidate);
    const bool goes_on = longer.size() > word.size() && longer.starts_with(word) &&
                         (longer[word.size()] == '-' || longer[word.size()] == '_');
    if (!goes_on) continue;
    if (only) return std::nullopt;
    only = candidate;
  }
  return only;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::optional<std::string> NearestWord(std::string_view word,
                                       const std::vector<std::string>& candidates) {
  if (word.size() > kWordBytesMax) return std::nullopt;
  const std::string lower = Lower(word);
  std::optional<std::string> nearest;
  size_t distance_min = 0;
  for (const std::string& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    const size_t distance_max = std::max<size_t>(1, longer / 3);
    if (longer - shorter > distance_max) continue;
    const size_t distance = EditDistance(lower, Lower(candidate));
    if (distance > distance_max) continue;
    if (nearest && distance >= distance_min) continue;
    nearest = candidate;
    distance_min = distance;
  }
  return nearest || word.empty() ? nearest : OnlyLongerWord(lower, candidates);
}

}  // namespace gp
