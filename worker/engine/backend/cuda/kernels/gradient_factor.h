// GradientFactor on the device, so that the update need not wait for the host. Any thread may call;
// work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// *args.factor = FactorOf(args) (backend/gradient_factor.h), bit for bit. Uses one device thread,
// because a step has few losses.
void LaunchGradientFactor(const GradientFactor& args, cudaStream_t stream);

}  // namespace gp::engine
