// LayerNorm (Ba et al. 2016, arXiv:1607.06450) on the device, alone and after the residual
// addition. Arguments are the Backend's; all pointers are device memory. Rows are contiguous.
//
// Outputs are overwritten, and each input is read once. Sums run in an order that depends on the
// number of channels alone. One fp32 row must fit into the shared memory of a block: 64 KiB
// everywhere. Buffers are aligned to 16 bytes. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// out = (in - mean) * rstd * gamma + beta; also writes mean and rstd.
void LaunchLayerNorm(const LayerNorm& args, cudaStream_t stream);

// residual = in + dropout(branch), then LayerNorm of it as stored. residual may be in; in and
// residual have the same type, and so have branch and norm.out; norm.in is ignored.
struct ResidualLayerNormArgs {
  Buffer residual;
  Buffer in;
  Buffer branch;
  Dropout dropout;
  LayerNorm norm;
};
void LaunchResidualLayerNorm(const ResidualLayerNormArgs& args, cudaStream_t stream);

}  // namespace gp::engine
