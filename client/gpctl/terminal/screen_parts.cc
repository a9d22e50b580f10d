#include "client/gpctl/terminal/screen_parts.h"

#include <algorithm>
#include <numeric>

namespace gp::gpctl {
namespace {

// The part that is furthest behind its share of the rows; null if all have their most.
int* NextToGrow(const std::vector<ScreenPart>& parts, std::vector<int>& shares) {
  int* next = nullptr;
  double behind = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const ScreenPart& part = parts[i];
    if (shares[i] == 0 || shares[i] >= part.most || part.weight <= 0) continue;
    const double grown = static_cast<double>(shares[i] - part.least + 1) / part.weight;
    if (next != nullptr && grown >= behind) continue;
    next = &shares[i];
    behind = grown;
  }
  return next;
}

}  // namespace

ScreenPart FixedPart(std::vector<ScreenLine> lines, int rank) {
  const int rows = static_cast<int>(lines.size());
  return {.least = rows, .most = rows, .rank = rank, .weight = 0, .draw = [lines](int /*rows*/) {
            return lines;
          }};
}

std::vector<int> ShareRows(const std::vector<ScreenPart>& parts, int rows) {
  std::vector<int> shares(parts.size(), 0);
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts[a].rank < parts[b].rank; });
  int left = std::max(rows, 0);
  for (const size_t i : order) {
    if (parts[i].least > left) continue;
    shares[i] = parts[i].least;
    left -= parts[i].least;
  }
  for (; left > 0; --left) {
    int* next = NextToGrow(parts, shares);
    if (next == nullptr) break;
    ++*next;
  }
  return shares;
}

std::vector<ScreenLine> Stacked(const std::vector<ScreenPart>& parts, int rows) {
  const std::vector<int> shares = ShareRows(parts, rows);
  std::vector<ScreenLine> lines;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (shares[i] == 0) continue;
    std::vector<ScreenLine> drawn = parts[i].draw(shares[i]);
    drawn.resize(std::min(drawn.size(), static_cast<size_t>(shares[i])));
    lines.insert(lines.end(), drawn.begin(), drawn.end());
  }
  lines.resize(static_cast<size_t>(std::max(rows, 0)));
  return lines;
}

}  // namespace gp::gpctl
