// Summarises the rounds of a server bench. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/peer_bench/text_load.h"
#include "worker/bench/report.h"

namespace gp::engine {

// Rates of one round.
struct RoundRates {
  double tokens_per_second = 0;
  double requests_per_second = 0;
};

// All tokens over the time from the first request to the last end; zeros for no texts.
RoundRates RatesOf(const std::vector<TextTiming>& texts);

// The milliseconds from each request to its first event.
std::vector<double> FirstByteMs(const std::vector<TextTiming>& texts);

// The smallest sample that is not exceeded by `fraction` of all samples; 0 for no samples.
double Percentile(std::vector<double> samples, double fraction);

// {"p50": …, "p99": …, "count": …}
Json PercentilesJson(const std::vector<double>& samples);

// ours / theirs, round by round. REQUIRES: both have the same size.
std::vector<double> RatiosOf(const std::vector<double>& ours, const std::vector<double>& theirs);

}  // namespace gp::engine
