// GradientFactor on the device, so that the update need not wait for the host. Any thread; the work
// joins the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// *args.factor as FactorOf (backend/gradient_factor.h) gives it, bit for bit. One thread: a step
// has few losses.
void LaunchGradientFactor(const GradientFactor& args, cudaStream_t stream);

}  // namespace gp::engine
