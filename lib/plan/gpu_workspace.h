// The workspace of the CUDA backend, by purpose. The arena plan reserves it, the memory forecast
// counts it, and the backend allocates it once. Standard library only. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"

namespace gp::runspec {

// For cuBLASLt, which splits the sum of a weight gradient over its rows into partial results. Its
// documentation recommends 32 MiB for sm_90, room for three of them: at 124M, the C x 4C gradient
// takes 9.4 MB in fp32. At least seven are needed: seven times 72 tiles of 128 x 256 fill 95 % of
// 132 multiprocessors.
inline constexpr int64_t kMatmulWorkspaceBytes = int64_t{96} << 20;

struct GpuWorkspacePiece {
  std::string name;
  int64_t offset_bytes = 0;  // a multiple of 256
  int64_t size_bytes = 0;
};

// The pieces of the workspace, sized for the largest batch of `options`: "matmul" for cuBLASLt,
// "scalars", and "scratch", which operations use one after another. The pieces do not overlap.
std::vector<GpuWorkspacePiece> GpuWorkspace(const ModelShape& shape, const ArenaOptions& options);

// The piece called `name`. Throws std::out_of_range for an unknown name.
GpuWorkspacePiece GpuWorkspacePieceOf(const ModelShape& shape, const ArenaOptions& options,
                                      const std::string& name);

int64_t GpuWorkspaceBytes(const ModelShape& shape, const ArenaOptions& options);

}  // namespace gp::runspec
