// The arithmetic peak of this machine, measured: what MFU is a fraction of on CPUs, whose clock
// under vector load no table knows. Runs for about `seconds`; call it before the work that is to be
// measured, not beside it.
#pragma once

#include "worker/engine/backend/cpu/isa.h"

namespace gp::engine {

// FLOP/s of fp32 products and sums on operands in the first-level cache, over `threads` threads:
// the best of several short bursts.
double MeasurePeakFlops(Isa isa, int threads, double seconds = 0.2);

}  // namespace gp::engine
