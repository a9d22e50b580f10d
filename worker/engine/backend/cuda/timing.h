// Timing of work on a device, for choices between ways to compute the same. Any thread.
#pragma once

#include <functional>

#include "worker/engine/backend/cuda/runtime.h"

namespace gp::engine {

// A candidate's time must be below this part of the first choice's; otherwise noise would decide.
inline constexpr double kGainMin = 0.98;

// Time per run, after one that warms up.
inline double MillisecondsOf(const std::function<void()>& queue, const CudaStream& stream) {
  constexpr int kRuns = 4;
  const CudaEvent first(CudaEvent::Timing::kOn), last(CudaEvent::Timing::kOn);
  queue();
  first.Record(stream);
  for (int i = 0; i < kRuns; ++i) queue();
  last.Record(stream);
  return MillisecondsBetween(first, last) / kRuns;
}

}  // namespace gp::engine
