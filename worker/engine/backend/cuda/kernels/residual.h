// The residual addition without a norm after it, and its gradient. Arguments are the Backend's; all
// pointers are device memory, rows are contiguous. Outputs are overwritten, and each element is
// moved once. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// out = in + dropout(branch). out may be in; they have the same type.
struct ResidualArgs {
  int64_t rows = 0;
  int64_t channels = 0;
  Buffer out;
  Buffer in;
  Buffer branch;
  Dropout dropout;
};
void LaunchResidual(const ResidualArgs& args, cudaStream_t stream);

// dbranch = the gradient of `branch`, given dout: dropout(dout).
struct ResidualBackwardArgs {
  int64_t rows = 0;
  int64_t channels = 0;
  Buffer dbranch;
  Buffer dout;
  Dropout dropout;
};
void LaunchResidualBackward(const ResidualBackwardArgs& args, cudaStream_t stream);

}  // namespace gp::engine
