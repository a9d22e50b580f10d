// Launch: how every kernel is started, on a device or by the emulation on the host
// (tests/worker/engine/backend/cuda/emulation). For .cu files only. Any thread may call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "worker/engine/backend/cuda/cuda_error.h"

namespace gp::engine {

// What a block may have of shared memory without asking.
inline constexpr size_t kDefaultSharedBytes = size_t{48} << 10;

// Blocks of `size` that cover `count`.
constexpr unsigned int BlocksFor(int64_t count, int64_t size) {
  return static_cast<unsigned int>((count + size - 1) / size);
}

// Starts kernel(args...) on `stream`; `shared_bytes` is its GP_DYNAMIC_SHARED. Throws CudaError
// when the device refuses the launch; a fault inside of the kernel comes out of a later call.
template <typename... Parameters>
void Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
            cudaStream_t stream, std::type_identity_t<Parameters>... args) {
  if (shared_bytes > kDefaultSharedBytes) {
    CheckCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes)),
              "shared memory of a kernel");
  }
#if defined(GP_CUDA_EMULATION)
  CheckCuda(cuda_emulation::LaunchKernel(kernel, {grid, block, shared_bytes}, stream, args...),
            "launch of a kernel");
#else
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
  CheckCuda(cudaLaunchKernel(kernel, grid, block, pointers, shared_bytes, stream),
            "launch of a kernel");
#endif
}

}  // namespace gp::engine
