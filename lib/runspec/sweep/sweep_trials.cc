#include "runspec/sweep/sweep_trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/mix_bits.h"

namespace gp::runspec {
namespace {

std::vector<uint64_t> Factors(const SweepFile& file) {
  std::vector<uint64_t> factors;
  for (const SweptKey& key : file.grid) factors.push_back(key.values.size());
  if (!file.random.empty()) factors.push_back(static_cast<uint64_t>(file.random_trials));
  if (!file.seeds.empty()) factors.push_back(file.seeds.size());
  return factors;
}

// A number in [0, 1).
double Uniform(uint64_t seed, uint64_t index) {
  return static_cast<double>(MixBits(seed + index * kMixBitsStep) >> 11) * 0x1p-53;
}

// The value with four significant digits, or with more where the range is so narrow that they would
// change it by more than a thousandth of the range, or move it out of the range.
std::string Rounded(double value, const SweepRange& range) {
  constexpr int kDigits = 4, kExactDigits = 17;
  std::string text;
  for (int digits = kDigits; digits <= kExactDigits; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    const double rounded = std::strtod(text.c_str(), nullptr);
    const bool inside = range.min <= rounded && rounded <= range.max;
    if (inside && std::abs(rounded - value) <= (range.max - range.min) / 1000) break;
  }
  return text;
}

std::string Draw(const SweptKey& key, double place) {
  if (!key.range) {
    return key.values[static_cast<size_t>(place * static_cast<double>(key.values.size()))];
  }
  const SweepRange& range = *key.range;
  // Each whole number of the range gets an equal part.
  const double high = range.whole ? range.max + 1 : range.max;
  const double value =
      range.log ? std::exp(std::log(range.min) + place * (std::log(high) - std::log(range.min)))
                : range.min + place * (high - range.min);
  if (!range.whole) return Rounded(value, range);
  return fmt::format("{:.0f}", std::clamp(std::floor(value), range.min, range.max));
}

// Each of `trials` with each value.
std::vector<TrialSettings> Times(const std::vector<TrialSettings>& trials, const std::string& path,
                                 const std::vector<std::string>& values) {
  std::vector<TrialSettings> product;
  for (const TrialSettings& trial : trials) {
    for (const std::string& value : values) {
      product.push_back(trial);
      product.back().emplace_back(path, value);
    }
  }
  return product;
}

std::vector<TrialSettings> WithDraws(const std::vector<TrialSettings>& trials,
                                     const SweepFile& file) {
  std::vector<TrialSettings> product;
  for (const TrialSettings& trial : trials) {
    for (int64_t draw = 0; draw < file.random_trials; ++draw) {
      product.push_back(trial);
      for (size_t key = 0; key < file.random.size(); ++key) {
        const uint64_t index = static_cast<uint64_t>(draw) * file.random.size() + key;
        product.back().emplace_back(file.random[key].path,
                                    Draw(file.random[key], Uniform(file.random_seed, index)));
      }
    }
  }
  return product;
}

}  // namespace

uint64_t CountTrials(const SweepFile& file) {
  uint64_t count = 1;
  for (const uint64_t factor : Factors(file)) {
    if (__builtin_mul_overflow(count, factor, &count)) return std::numeric_limits<uint64_t>::max();
  }
  return count;
}

std::string TrialFactors(const SweepFile& file) {
  return fmt::format("{}", fmt::join(Factors(file), " x "));
}

std::vector<TrialSettings> ExpandTrials(const SweepFile& file) {
  std::vector<TrialSettings> trials(1);
  for (const SweptKey& key : file.grid) trials = Times(trials, key.path, key.values);
  if (!file.random.empty()) trials = WithDraws(trials, file);
  return file.seeds.empty() ? trials : Times(trials, "seed", file.seeds);
}

}  // namespace gp::runspec
