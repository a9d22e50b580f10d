#include "worker/sampler/vocabulary_scan.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace gp::engine {
namespace {

constexpr size_t kLanes = 4;
constexpr size_t kBlock =
    64;  // logits whose maximum is taken together, or whose exponentials are added

using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));

// exp(x) = 2^n exp(r) with |r| <= ln(2)/2; ln(2) in two parts and the polynomial of r are those of
// Cephes' expf. For x below kLeast the result is 0.
inline Floats Exp(Floats x) {
  constexpr float kLeast = -87;
  constexpr float kRounder = 0x1.8p23f;  // adding it rounds to an integer in the low bits
  const Integers counts = x > kLeast;
  const Floats rounded = x * 1.44269504088896341f + kRounder;
  const Floats n = rounded - kRounder;
  const Floats r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Floats sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
  sum = sum * r + 8.3334519073e-3f;
  sum = sum * r + 4.1665795894e-2f;
  sum = sum * r + 1.6666665459e-1f;
  sum = sum * r + 5.0000001201e-1f;
  sum = sum * r * r + r + 1;
  const Integers power = (reinterpret_cast<Integers>(rounded) + 127) << 23;
  return reinterpret_cast<Floats>(
      reinterpret_cast<Integers>(sum * reinterpret_cast<Floats>(power)) & counts);
}

// exp((logit - shift) * factor) of up to kLanes logits; lanes after the last one are 1.
inline Floats ExpOf(const float* logits, size_t count, float shift, float factor) {
  Floats x = Floats{} + shift;
  std::memcpy(&x, logits, count * sizeof(float));
  return Exp((x - shift) * factor);
}

float MaximumOf(const float* logits, size_t count) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  float lanes[8] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) {
      lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
    }
  }
  for (; i < count; ++i) lanes[0] = logits[i] > lanes[0] ? logits[i] : lanes[0];
  return *std::max_element(lanes, lanes + 8);
}

std::vector<float> BlockMaxima(std::span<const float> logits) {
  std::vector<float> maxima;
  maxima.reserve(logits.size() / kBlock + 1);
  for (size_t first = 0; first < logits.size(); first += kBlock) {
    maxima.push_back(MaximumOf(logits.data() + first, std::min(kBlock, logits.size() - first)));
  }
  return maxima;
}

// Ids of logits that may be among the `count` largest. Each of the `count` blocks with the largest
// maxima has a logit that is at least the smallest of these maxima, so logits below that bound
// cannot be among them.
std::vector<int32_t> Candidates(std::span<const float> logits, size_t count) {
  const std::vector<float> maxima = BlockMaxima(logits);
  float bound = -std::numeric_limits<float>::infinity();
  if (count <= maxima.size()) {
    std::vector<float> sorted = maxima;
    const auto edge = sorted.begin() + static_cast<std::ptrdiff_t>(count) - 1;
    std::nth_element(sorted.begin(), edge, sorted.end(), std::greater<>());
    bound = *edge;
  }
  std::vector<int32_t> ids;
  for (size_t block = 0; block < maxima.size(); ++block) {
    if (maxima[block] < bound) continue;
    const size_t end = std::min((block + 1) * kBlock, logits.size());
    for (size_t id = block * kBlock; id < end; ++id) {
      if (logits[id] >= bound) ids.push_back(static_cast<int32_t>(id));
    }
  }
  return ids;
}

}  // namespace

float LargestLogit(std::span<const float> logits) {
  return MaximumOf(logits.data(), logits.size());
}

std::vector<int32_t> LikeliestIds(std::span<const float> logits, int64_t count) {
  if (count <= 0) return {};
  const size_t wanted = std::min(static_cast<size_t>(count), logits.size());
  std::vector<int32_t> ids = Candidates(logits, wanted);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float of_a = logits[static_cast<size_t>(a)];
    const float of_b = logits[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::partial_sort(ids.begin(), end, ids.end(), likelier);
  ids.erase(end, ids.end());
  return ids;
}

void Exponentials(std::span<const float> logits, float shift, float factor,
                  std::span<float> results) {
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    const Floats values = ExpOf(logits.data() + i, kLanes, shift, factor);
    std::memcpy(results.data() + i, &values, sizeof(values));
  }
  const Floats values = ExpOf(logits.data() + i, logits.size() - i, shift, factor);
  std::memcpy(results.data() + i, &values, (logits.size() - i) * sizeof(float));
}

double SumOfExponentials(std::span<const float> logits, float shift) {
  double total = 0;
  size_t i = 0;
  while (i + kLanes <= logits.size()) {
    const size_t end = std::min(i + kBlock, logits.size() / kLanes * kLanes);
    Floats sums{};
    for (; i < end; i += kLanes) sums += ExpOf(logits.data() + i, kLanes, shift, 1);
    for (size_t lane = 0; lane < kLanes; ++lane) total += sums[lane];
  }
  const Floats rest = ExpOf(logits.data() + i, logits.size() - i, shift, 1);
  for (size_t lane = 0; lane < logits.size() - i; ++lane) total += rest[lane];
  return total;
}

}  // namespace gp::engine
