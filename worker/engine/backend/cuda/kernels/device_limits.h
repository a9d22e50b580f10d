// Limits of the current device, for launchers that depend on them. Any thread may call; CudaError
// when there is no device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "worker/engine/backend/cuda/runtime/cuda_error.h"

namespace gp::engine {

inline int AttributeOfDevice(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

// Bytes of shared memory that a block may have.
inline int64_t SharedBytesOfDevice() {
  return AttributeOfDevice(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

inline int MultiprocessorsOfDevice() { return AttributeOfDevice(cudaDevAttrMultiProcessorCount); }

}  // namespace gp::engine
