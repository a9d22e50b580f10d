// How fast the emulated cuBLASLt is: nobody waits for its loops, but a test may want one product to
// be slower than another. Any thread may call.
#pragma once

#include <cublasLt.h>

#include <chrono>

namespace gp::cuda_emulation {

// From now on events say that products with this epilogue, and no others, take so much longer.
void SlowDown(cublasLtEpilogue_t epilogue, std::chrono::seconds by);

}  // namespace gp::cuda_emulation
