#include "worker/engine/optim/global_norm.h"

#include <algorithm>
#include <cmath>

namespace gp::engine {

double GlobalNorm(Backend& backend, std::span<const float> gradients) {
  return std::sqrt(backend.SumOfSquares(gradients.data(), static_cast<int64_t>(gradients.size())));
}

float ClipCoefficient(double norm, double max_norm) {
  if (max_norm <= 0) return 1;
  return static_cast<float>(std::min(1.0, max_norm / (norm + 1e-6)));
}

}  // namespace gp::engine
