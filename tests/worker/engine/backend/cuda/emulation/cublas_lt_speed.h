// Simulated speed of the emulated cuBLASLt: its loops take no real time, but a test may want one
// product to be slower than another. Any thread may call.
#pragma once

#include <cublasLt.h>

#include <chrono>

namespace gp::cuda_emulation {

// From now on events report this much more time for products with this epilogue, and no others.
void SlowDown(cublasLtEpilogue_t epilogue, std::chrono::seconds by);

}  // namespace gp::cuda_emulation
