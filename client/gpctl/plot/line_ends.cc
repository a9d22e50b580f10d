#include "client/gpctl/plot/line_ends.h"

#include <algorithm>
#include <numeric>

namespace gp::gpctl {
namespace {

// Labels that touch move together as a group. The group takes the position with the smallest
// squared distance to what its labels want.
struct Group {
  double sum = 0;  // over its labels, the position of the first label that each of them implies
  int count = 0;
  double Begin() const { return sum / count; }
};

}  // namespace

std::vector<double> SpreadPlaces(std::vector<double> places, double distance, double top,
                                 double bottom) {
  if (places.empty()) return places;
  const auto count = static_cast<double>(places.size());
  distance = std::min(distance, (bottom - top) / std::max(count - 1, 1.0));
  std::vector<size_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t one, size_t other) { return places[one] < places[other]; });
  std::vector<Group> groups;
  const auto begin = [&](const Group& group) {
    return std::clamp(group.Begin(), top, std::max(top, bottom - (group.count - 1) * distance));
  };
  for (const size_t index : order) {
    groups.push_back({places[index], 1});
    while (groups.size() > 1) {
      const Group last = groups.back();
      Group& before = groups[groups.size() - 2];
      if (begin(before) + before.count * distance <= begin(last)) break;
      before.sum += last.sum - last.count * before.count * distance;
      before.count += last.count;
      groups.pop_back();
    }
  }
  size_t next = 0;
  for (const Group& group : groups) {
    for (int i = 0; i < group.count; ++i) places[order[next++]] = begin(group) + i * distance;
  }
  return places;
}

}  // namespace gp::gpctl
