// Measures this machine's arithmetic peak. MFU on a CPU is a fraction of it, because no table lists
// a CPU's clock under vector load. Runs for about `seconds`; call it before the work that is
// measured, not at the same time.
#pragma once

#include "worker/engine/backend/cpu/kernels/isa.h"
#include "worker/engine/backend/cpu/kernels/tiles.h"

namespace gp::engine {

// FLOP/s of fp32 products and sums on operands in the first-level cache: the sum over `threads`
// threads of each thread's best short burst.
double MeasurePeakFlops(Isa isa, int threads, double seconds = 0.2);

// The same of bf16 products in blocks of 2 x 2 tiles on operands in the first-level cache.
double MeasureTilePeakFlops(const Tiles& tiles, int threads, double seconds = 0.2);

}  // namespace gp::engine
