// Launch: how every kernel is started, on a device or by the emulation on the host
// (tests/worker/engine/backend/cuda/emulation). For .cu files only. Any thread may call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "worker/engine/backend/cuda/runtime/cuda_error.h"

namespace gp::engine {

// Shared memory that a block may have without an attribute of the kernel.
inline constexpr size_t kDefaultSharedBytes = size_t{48} << 10;

// Blocks of `size` that cover `count`.
constexpr unsigned int BlocksFor(int64_t count, int64_t size) {
  return static_cast<unsigned int>((count + size - 1) / size);
}

#if !defined(GP_CUDA_EMULATION)
// Whether kernels are launched early (kernels/await_previous.cuh): only if `kernel`, and so all of
// them, were compiled for a device that supports it. A process computes on one device.
// GP_EARLY_LAUNCH=0 turns it off, to measure the gain.
inline bool LaunchesEarly(const void* kernel) {
  static const bool launches_early = [&] {
    const char* setting = std::getenv("GP_EARLY_LAUNCH");
    if (setting != nullptr && std::string_view(setting) == "0") return false;
    cudaFuncAttributes attributes{};
    CheckCuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= 90;
  }();
  return launches_early;
}
#endif

// Starts kernel(args...), which begins with AwaitPrevious, on `stream`; `shared_bytes` is its
// GP_DYNAMIC_SHARED. Throws CudaError when the device refuses the launch. An error inside the
// kernel is thrown by a later call.
template <typename... Parameters>
void Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
            cudaStream_t stream, std::type_identity_t<Parameters>... args) {
  if (shared_bytes > kDefaultSharedBytes) {
    CheckCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes)),
              "shared memory of a kernel");
  }
#if defined(GP_CUDA_EMULATION)
  const cuda_emulation::LaunchShape shape{grid, block, shared_bytes, /*awaits_previous=*/true};
  CheckCuda(cuda_emulation::LaunchKernel(kernel, shape, stream, args...), "launch of a kernel");
#else
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  const auto* function = reinterpret_cast<const void*>(kernel);
  config.numAttrs = LaunchesEarly(function) ? 1 : 0;
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
  CheckCuda(cudaLaunchKernelExC(&config, function, pointers), "launch of a kernel");
#endif
}

}  // namespace gp::engine
