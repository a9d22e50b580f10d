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

// Ids of the k largest logits, ascending: one pass with a heap whose top is the least likely so
// far. Later ids are never likelier than an equal one, so they need only be compared with the top.
std::vector<size_t> Candidates(std::span<const float> logits, int64_t top_k) {
  const auto count = static_cast<size_t>(top_k);
  if (top_k <= 0 || count >= logits.size()) {
    std::vector<size_t> all(logits.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  const auto likelier = [&](size_t a, size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<size_t> heap;
  heap.reserve(count);
  for (size_t id = 0; id < logits.size(); ++id) {
    if (heap.size() == count) {
      if (!(logits[id] > logits[heap.front()])) continue;
      std::pop_heap(heap.begin(), heap.end(), likelier);
      heap.pop_back();
    }
    heap.push_back(id);
    std::push_heap(heap.begin(), heap.end(), likelier);
  }
  std::sort(heap.begin(), heap.end());
  return heap;
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
  weights.reserve(ids.size());
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
