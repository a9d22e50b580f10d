// The median and quartiles of a bench's samples. A value; thread-safe.
#pragma once

#include <vector>

namespace gp::engine {

struct SampleSummary {
  double median = 0;
  double low = 0;   // first quartile
  double high = 0;  // third quartile
};

// Quartiles with linear interpolation; zeros for no samples.
SampleSummary Summarize(std::vector<double> samples);

}  // namespace gp::engine
