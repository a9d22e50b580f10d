// The norm of all gradients and the factor that clips it, as torch.nn.utils.clip_grad_norm_ defines
// them. Pure functions of the values: the order of summation depends on the count alone. One thread
// calls.
#pragma once

#include <span>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

double GlobalNorm(Backend& backend, std::span<const float> gradients);

// min(1, max_norm / (norm + 1e-6)); 1 when max_norm is 0 (clipping off).
float ClipCoefficient(double norm, double max_norm);

}  // namespace gp::engine
