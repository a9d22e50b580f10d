// The emulated devices, which are all identical, and the last error of each host thread.
// Thread-safe.
#pragma once

#include "cuda_runtime.h"

namespace gp::cuda_emulation {

// Like an H100 with less memory: sm_90, 132 multiprocessors, 227 KiB of shared memory per block.
cudaDeviceProp DefaultDevice();
// Sets the properties of every device, and their number; 0 stands for a machine without devices.
void SetDevices(const cudaDeviceProp& properties, int count = 1);
cudaDeviceProp Devices();
int DeviceCount();

// Returns `error`; if it is an error, keeps it for cudaGetLastError.
cudaError_t SetLastError(cudaError_t error);

}  // namespace gp::cuda_emulation
