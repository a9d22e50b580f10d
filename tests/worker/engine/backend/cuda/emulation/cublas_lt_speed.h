// Simulated speed of the emulated cuBLASLt: its loops are not timed, but a test may want one
// product to be slower than another. Thread-safe.
#pragma once

#include <cublasLt.h>

#include <chrono>

namespace gp::cuda_emulation {

// From now on, events report this much extra time for products with this epilogue, and no extra
// time for others.
void SlowDown(cublasLtEpilogue_t epilogue, std::chrono::seconds by);

}  // namespace gp::cuda_emulation
