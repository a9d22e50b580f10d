// GELU and its derivative on the device. Included by kernels.
#pragma once

#include <cuda_runtime.h>

namespace gp::engine {

// x * Phi(x), Phi the normal distribution function; the derivative is Phi(x) + x * phi(x).
struct DeviceGeluErf {
  static __device__ __forceinline__ float Phi(float x) {
    return 0.5f * (1.0f + erff(x * 0.70710678118654752f));
  }
  static __device__ __forceinline__ float Value(float x) { return x * Phi(x); }
  static __device__ __forceinline__ float Derivative(float x) {
    return Phi(x) + x * (0.39894228040143268f * expf(-0.5f * x * x));
  }
};

// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
struct DeviceGeluTanh {
  static __device__ __forceinline__ float Tanh(float x) {
    return tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x));
  }
  static __device__ __forceinline__ float Value(float x) { return 0.5f * x * (1.0f + Tanh(x)); }
  static __device__ __forceinline__ float Derivative(float x) {
    const float t = Tanh(x);
    const float slope = 0.79788456080286536f * (1.0f + 3 * 0.044715f * x * x);
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * slope;
  }
};

}  // namespace gp::engine
