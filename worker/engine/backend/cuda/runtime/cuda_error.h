// CudaError: a call into CUDA failed. Thrown inside the engine. Depends on no state except the
// current device's name; any thread may use it.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gp::engine {

// What a user can do about the failure `code`.
inline const char* WayOutOf(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "lower batch.micro_batch, or set engine.recompute or engine.chunked_head; `gp-bench "
             "plan` prints the memory of each tensor";
    case cudaErrorNoDevice:
      return "no NVIDIA GPU is visible to this process: look at nvidia-smi and at "
             "CUDA_VISIBLE_DEVICES";
    case cudaErrorInsufficientDriver:
      return "the driver is older than this build's CUDA: update it, `gpctl doctor` says to which "
             "version";
    case cudaErrorNoKernelImageForDevice:
      return "this build has no kernels for the device: configure with "
             "-DGP_CUDA_ALL_ARCHITECTURES=ON";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
      return "the device context is lost: start the process again";
    default:
      return "the kernel log (dmesg, Xid) may say more; start the process again";
  }
}

// The current device as messages name it; never fails.
inline std::string CurrentDeviceName() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return "no device";
  cudaDeviceProp properties;
  const std::string number = "device " + std::to_string(device);
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return number;
  return number + " (" + properties.name + ")";
}

// Most CUDA errors are final for the process: after an illegal access or a failed launch, every
// later call returns the same error.
class CudaError : public std::runtime_error {
 public:
  // `call` is what failed, such as "cudaMalloc of 12 bytes".
  CudaError(cudaError_t code, const std::string& call)
      : std::runtime_error(call + " failed on " + CurrentDeviceName() + ": " +
                           cudaGetErrorName(code) + ": " + cudaGetErrorString(code) + "; " +
                           WayOutOf(code)),
        code_(code) {
    // The runtime would report a failed launch once more with the next call.
    static_cast<void>(cudaGetLastError());
  }

  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

inline void CheckCuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw CudaError(code, call);
}

}  // namespace gp::engine
