#include "worker/engine/sampler/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace gp::engine {
namespace {

// SplitMix64's finaliser (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Ids of the k largest logits, ascending.
std::vector<size_t> Candidates(std::span<const float> logits, int64_t top_k) {
  std::vector<size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), size_t{0});
  if (top_k <= 0 || static_cast<size_t>(top_k) >= ids.size()) return ids;
  const auto likelier = [&](size_t a, size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::nth_element(ids.begin(), ids.begin() + top_k, ids.end(), likelier);
  ids.resize(static_cast<size_t>(top_k));
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

double KeyedUniform(uint64_t seed, uint64_t sample, uint64_t position) {
  const uint64_t bits = Mix(Mix(Mix(seed) ^ sample) ^ position);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

int32_t SampleToken(std::span<const float> logits, const SamplingOptions& options, double uniform) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  if (options.temperature <= 0) return static_cast<int32_t>(largest - logits.begin());
  const std::vector<size_t> ids = Candidates(logits, options.top_k);
  std::vector<double> weights;
  double total = 0;
  for (const size_t id : ids) {
    weights.push_back(std::exp((static_cast<double>(logits[id]) - *largest) / options.temperature));
    total += weights.back();
  }
  double left = uniform * total;
  for (size_t i = 0; i < ids.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<int32_t>(ids[i]);
  }
  // Rounding may leave a little: the last token with any weight takes it.
  size_t last = ids.size() - 1;
  while (last > 0 && !(weights[last] > 0)) --last;
  return static_cast<int32_t>(ids[last]);
}

}  // namespace gp::engine
