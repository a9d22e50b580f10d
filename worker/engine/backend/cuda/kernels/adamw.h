// AdamW in one launch over one range: fp32 parameters, moments and gradients, and the working copy
// of the new parameters. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// Every operation is the same as in the CPU's kernel (cpu/kernels/flat.h), in the same order:
// results differ at most where a compiler contracts a product and a sum into an FMA. The working
// copy, if present, is rounded with the CPU's random bits. Parameters and moments are updated in
// place; nothing may alias. Moves 28 bytes per value, 30 with a working copy.
void LaunchAdamW(const AdamWUpdate& update, cudaStream_t stream);

}  // namespace gp::engine
