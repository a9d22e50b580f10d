// The median, quartiles and mean of a bench's samples. A value; thread-safe.
#pragma once

#include <vector>

namespace gp::engine {

struct SampleSummary {
  double median = 0;
  double low = 0;   // first quartile
  double high = 0;  // third quartile
  double mean = 0;  // the rate of work done under a changing load is one per mean
};

// Quartiles are made with linear interpolation. Zeros for no samples.
SampleSummary Summarize(std::vector<double> samples);

}  // namespace gp::engine
