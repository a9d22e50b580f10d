// 2^x in one instruction. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace gp::engine {

inline constexpr float kLog2E = 1.4426950408889634f;

// 2^x to 2 units in the last place; 0 for -inf and for results below the smallest normal number.
__device__ __forceinline__ float FastExp2(float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return exp2f(x);
#endif
}

}  // namespace gp::engine
