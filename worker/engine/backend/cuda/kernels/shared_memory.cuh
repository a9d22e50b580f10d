// Declarations of memory that the threads of a block share, for a device and for the emulation,
// which poisons it before each block. For .cu files only.
//
//   GP_SHARED(float, sums, [32]);      // __shared__ float sums[32]; also [16][17], or nothing
//   GP_DYNAMIC_SHARED(float, row);     // float* row: the launch's shared_bytes, 16-byte aligned
#pragma once

#include <cuda_runtime.h>

#if defined(GP_CUDA_EMULATION)
#define GP_SHARED(type, name, ...)          \
  alignas(16) static type name __VA_ARGS__; \
  static const ::gp::cuda_emulation::SharedRange name##_range(&name, sizeof(name))
#define GP_DYNAMIC_SHARED(type, name) \
  type* name = static_cast<type*>(::gp::cuda_emulation::DynamicShared())
#else
#define GP_SHARED(type, name, ...) __shared__ __align__(16) type name __VA_ARGS__
#define GP_DYNAMIC_SHARED(type, name)                                       \
  extern __shared__ __align__(16) unsigned char gp_dynamic_shared_memory[]; \
  type* name = reinterpret_cast<type*>(gp_dynamic_shared_memory)
#endif
