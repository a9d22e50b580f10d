#include "bench/peer_bench/load_summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gp::engine {

RoundRates RatesOf(const std::vector<TextTiming>& texts) {
  if (texts.empty()) return {};
  double begin = texts.front().sent;
  double end = texts.front().finished;
  int64_t tokens = 0;
  for (const TextTiming& text : texts) {
    begin = std::min(begin, text.sent);
    end = std::max(end, text.finished);
    tokens += text.tokens;
  }
  const double seconds = end - begin;
  return {static_cast<double>(tokens) / seconds, static_cast<double>(texts.size()) / seconds};
}

std::vector<double> FirstByteMs(const std::vector<TextTiming>& texts) {
  std::vector<double> ms;
  for (const TextTiming& text : texts) ms.push_back(1e3 * (text.first_byte - text.sent));
  return ms;
}

double Percentile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const auto rank =
      static_cast<ptrdiff_t>(std::ceil(fraction * static_cast<double>(samples.size())));
  return samples[static_cast<size_t>(std::clamp<ptrdiff_t>(rank - 1, 0, std::ssize(samples) - 1))];
}

Json PercentilesJson(const std::vector<double>& samples) {
  return {{"p50", Percentile(samples, 0.5)},
          {"p99", Percentile(samples, 0.99)},
          {"count", samples.size()}};
}

std::vector<double> RatiosOf(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  return ratios;
}

}  // namespace gp::engine
