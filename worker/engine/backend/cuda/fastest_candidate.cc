#include "worker/engine/backend/cuda/fastest_candidate.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace gp::engine {
namespace {

constexpr double kSlowerMax = 1.5;  // times the fastest first run so far
constexpr size_t kFinalists = 4;
constexpr int kRounds = 3;
constexpr int kRunsOfRound = 2;
constexpr double kGainMin = 0.98;  // of candidate 0's time

struct Finalist {
  size_t index = 0;
  double milliseconds = std::numeric_limits<double>::infinity();
};

// Candidate 0, and the others whose first run was among the fastest.
std::vector<Finalist> Finalists(size_t count, const CandidateTime& time) {
  std::vector<Finalist> all;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i) {
    all.push_back({i, time(i, 1)});
    best = std::min(best, all.back().milliseconds);
  }
  std::erase_if(all, [&](const Finalist& f) {
    return f.index != 0 && !(f.milliseconds <= kSlowerMax * best);
  });
  const auto faster = [](const Finalist& a, const Finalist& b) {
    return a.milliseconds < b.milliseconds;
  };
  std::stable_sort(all.begin() + 1, all.end(), faster);
  all.resize(std::min(all.size(), kFinalists));
  return all;
}

}  // namespace

size_t FastestCandidate(size_t count, const CandidateTime& time) {
  if (count == 1) return 0;
  std::vector<Finalist> finalists = Finalists(count, time);
  if (finalists.size() == 1) return 0;
  for (Finalist& finalist : finalists) {
    finalist.milliseconds = std::numeric_limits<double>::infinity();
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Finalist& finalist : finalists) {
      finalist.milliseconds = std::min(finalist.milliseconds, time(finalist.index, kRunsOfRound));
    }
  }
  finalists[0].milliseconds *= kGainMin;
  return std::min_element(
             finalists.begin(), finalists.end(),
             [](const Finalist& a, const Finalist& b) { return a.milliseconds < b.milliseconds; })
      ->index;
}

}  // namespace gp::engine
