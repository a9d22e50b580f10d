// How much shared memory a block may have on the current device, for kernels that choose a way by
// it. Any thread may call.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "worker/engine/backend/cuda/cuda_error.h"

namespace gp::engine {

// Bytes.
inline int64_t SharedBytesOfDevice() {
  int device = 0;
  int bytes = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "shared memory of a block");
  return bytes;
}

}  // namespace gp::engine
