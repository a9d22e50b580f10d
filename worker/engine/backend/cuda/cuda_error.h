// CudaError: a call into CUDA failed. Thrown inside the engine; pure, any thread.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gp::engine {

class CudaError : public std::runtime_error {
 public:
  // `call` is what failed and where, such as "cudaMalloc of 12 bytes".
  CudaError(cudaError_t code, const std::string& call)
      : std::runtime_error(call + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code)),
        code_(code) {}

  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

inline void CheckCuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw CudaError(code, call);
}

}  // namespace gp::engine
