// The factor that a step multiplies its gradient by; NaN: the step updates nothing. Every backend
// computes exactly this. Header only, standard library only; pure functions, thread-safe, for the
// host and for a CUDA device.
#pragma once

#include <cmath>
#include <cstdint>

#include "worker/engine/backend/backend.h"

#ifdef __CUDACC__
#define GP_HOST_DEVICE __host__ __device__
#else
#define GP_HOST_DEVICE
#endif

namespace gp::engine {

// min(1, norm_max / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 when norm_max is 0.
GP_HOST_DEVICE inline float ClipCoefficient(double norm, double norm_max) {
  const double ratio = norm_max / (norm + 1e-6);
  return norm_max <= 0 || ratio > 1 ? 1.0f : static_cast<float>(ratio);
}

// Reads the memory that `args` points to. Only for code that may read backend memory.
GP_HOST_DEVICE inline float FactorOf(const GradientFactor& args) {
  bool finite = std::isfinite(*args.sum_of_squares);
  double loss_sum = 0;
  for (int64_t i = 0; i < args.loss_count; ++i) {
    finite = finite && std::isfinite(args.losses[i]);
    loss_sum += args.losses[i];
  }
  if (!finite || loss_sum > args.loss_sum_max) return NAN;
  const double norm = std::sqrt(*args.sum_of_squares) / static_cast<double>(args.loss_scale);
  return ClipCoefficient(norm, args.norm_max) / args.loss_scale;
}

#undef GP_HOST_DEVICE

}  // namespace gp::engine
