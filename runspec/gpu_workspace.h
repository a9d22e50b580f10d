// The workspace of the CUDA backend, by purpose: what the arena plan reserves, the memory forecast
// counts and the backend allocates once. Standard library only. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runspec/arena_plan.h"
#include "runspec/model_shape.h"

namespace gp::runspec {

struct GpuWorkspacePiece {
  std::string name;
  int64_t offset_bytes = 0;  // a multiple of 256
  int64_t size_bytes = 0;
};

// For the largest batch of `options`: "matmul" for cuBLASLt, "scalars", and "scratch", which one
// operation uses after the other. The pieces do not overlap.
std::vector<GpuWorkspacePiece> GpuWorkspace(const ModelShape& shape, const ArenaOptions& options);

// One of them. Throws std::out_of_range for an unknown name.
GpuWorkspacePiece GpuWorkspacePieceOf(const ModelShape& shape, const ArenaOptions& options,
                                      const std::string& name);

int64_t GpuWorkspaceBytes(const ModelShape& shape, const ArenaOptions& options);

}  // namespace gp::runspec
