// The keywords of CUDA C++ for a host compiler. __shared__ is missing: kernels declare shared
// memory with GP_SHARED (kernels/shared_memory.cuh), so that the emulation can fill it with NaN.
#pragma once

#define GP_CUDA_EMULATION 1

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
