// The emulated devices, all identical, and the last error of each host thread. Any thread may call.
#pragma once

#include "cuda_runtime.h"

namespace gp::cuda_emulation {

// Like an H100 with little memory: sm_90, 132 multiprocessors, 227 KiB of shared memory per block.
cudaDeviceProp DefaultDevice();
// The properties of every device from now on; `count` devices, 0 for a machine without any.
void SetDevices(const cudaDeviceProp& properties, int count = 1);
cudaDeviceProp Devices();
int DeviceCount();

// Returns `error` and keeps it for cudaGetLastError when it is one.
cudaError_t SetLastError(cudaError_t error);

}  // namespace gp::cuda_emulation
