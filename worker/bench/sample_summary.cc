#include "worker/bench/sample_summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace gp::engine {
namespace {

double Quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] * (1 - weight) + sorted[above] * weight;
}

}  // namespace

SampleSummary Summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {
      Quantile(samples, 0.5), Quantile(samples, 0.25), Quantile(samples, 0.75),
      std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size())};
}

}  // namespace gp::engine
