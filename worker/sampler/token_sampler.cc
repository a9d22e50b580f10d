#include "worker/sampler/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/mix_bits.h"
#include "worker/sampler/vocabulary_scan.h"

namespace gp::engine {
namespace {

// Below this temperature the likeliest token has all of the probability, so it is chosen.
constexpr double kTemperatureLeast = 1e-6;

// A token that may be chosen. Candidates are kept in the order of their ids.
struct Candidate {
  size_t id = 0;
  double weight = 0;  // proportional to its probability; the likeliest has 1
};

std::vector<Candidate> WeighAll(std::span<const float> logits, double temperature) {
  std::vector<float> weights(logits.size());
  Exponentials(logits, LargestLogit(logits), static_cast<float>(1 / temperature), weights);
  std::vector<Candidate> candidates(logits.size());
  for (size_t id = 0; id < logits.size(); ++id) candidates[id] = {id, weights[id]};
  return candidates;
}

// The weights of likely tokens with these logits, the likeliest first.
std::vector<Candidate> WeighLikely(std::span<const int32_t> ids, std::span<const float> logits,
                                   double temperature) {
  const double largest = logits[0];
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < ids.size(); ++i) {
    candidates.push_back(
        {static_cast<size_t>(ids[i]), std::exp((logits[i] - largest) / temperature)});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  return candidates;
}

std::vector<Candidate> Weigh(std::span<const float> logits, const SamplingOptions& options) {
  if (options.top_k <= 0 || options.top_k >= std::ssize(logits)) {
    return WeighAll(logits, options.temperature);
  }
  const std::vector<int32_t> ids = LikeliestIds(logits, options.top_k);
  std::vector<float> of_ids;
  for (const int32_t id : ids) of_ids.push_back(logits[static_cast<size_t>(id)]);
  return WeighLikely(ids, of_ids, options.temperature);
}

double Total(std::span<const Candidate> candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

// Keeps the smallest set of the likeliest tokens whose probabilities add up to `share`. Uses a heap
// instead of sorting, because a few of many tokens are usually enough.
void KeepNucleus(double share, std::vector<Candidate>& candidates) {
  const auto less_likely = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.id > b.id;
  };
  const double total = Total(candidates);
  const double wanted = share * total;
  const double negligible = (1 - share) * total / static_cast<double>(candidates.size());
  std::erase_if(candidates, [&](const Candidate& c) { return c.weight < negligible; });
  std::make_heap(candidates.begin(), candidates.end(), less_likely);
  auto rest = candidates.end();
  double sum = 0;
  do {
    std::pop_heap(candidates.begin(), rest, less_likely);
    sum += (--rest)->weight;
  } while (sum < wanted && rest != candidates.begin());
  candidates.erase(candidates.begin(), rest);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
}

int32_t Draw(std::span<const Candidate> candidates, double uniform) {
  double left = uniform * Total(candidates);
  for (const Candidate& candidate : candidates) {
    left -= candidate.weight;
    if (left < 0) return static_cast<int32_t>(candidate.id);
  }
  // Rounding may leave a little: the last token with any weight takes it.
  size_t last = candidates.size() - 1;
  while (last > 0 && !(candidates[last].weight > 0)) --last;
  return static_cast<int32_t>(candidates[last].id);
}

int32_t DrawOne(std::vector<Candidate> candidates, const SamplingOptions& options, double uniform) {
  if (options.top_p < 1) KeepNucleus(options.top_p, candidates);
  // The likeliest has the weight 1.
  if (options.min_p > 0) {
    std::erase_if(candidates, [&](const Candidate& c) { return c.weight < options.min_p; });
  }
  return Draw(candidates, uniform);
}

}  // namespace

double KeyedUniform(uint64_t seed, uint64_t sample, uint64_t position) {
  const uint64_t bits = MixBits(MixBits(MixBits(seed) ^ sample) ^ position);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

void AdjustLogits(const SamplingOptions& options, std::span<const int32_t> written,
                  std::span<float> logits) {
  const auto add = [&](int32_t id, double value) {
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) return;
    float& logit = logits[static_cast<size_t>(id)];
    logit = static_cast<float>(logit + value);
  };
  if (options.presence_penalty != 0 || options.frequency_penalty != 0) {
    std::map<int32_t, int64_t> counts;
    for (const int32_t id : written) ++counts[id];
    for (const auto& [id, count] : counts) {
      add(id, -options.presence_penalty - options.frequency_penalty * static_cast<double>(count));
    }
  }
  for (const auto& [id, bias] : options.logit_bias) add(id, bias);
}

int32_t SampleToken(std::span<const float> logits, const SamplingOptions& options, double uniform) {
  if (options.temperature < kTemperatureLeast) {
    return LikeliestIds(logits, 1)[0];
  }
  return DrawOne(Weigh(logits, options), options, uniform);
}

bool NeedsOnly(const SamplingOptions& options, int64_t count, int64_t drawable) {
  const bool adjusts = options.presence_penalty != 0 || options.frequency_penalty != 0 ||
                       !options.logit_bias.empty();
  if (adjusts || count < 1) return false;
  if (options.temperature < kTemperatureLeast) return true;
  return options.top_k >= 1 && options.top_k <= count && options.top_k < drawable;
}

int32_t SampleToken(const LikelyTokens& likely, const SamplingOptions& options, double uniform) {
  if (options.temperature < kTemperatureLeast) return likely.ids[0];
  const auto count = static_cast<size_t>(options.top_k);
  return DrawOne(WeighLikely(std::span(likely.ids).first(count),
                             std::span(likely.logits).first(count), options.temperature),
                 options, uniform);
}

}  // namespace gp::engine
