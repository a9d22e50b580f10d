// The matrix product of bf16 at level `amx`: blocks of 2 x 2 tiles over packed panels (tiles.h).
// Every element is C + one sum for each block of 32 in k, blocks ascending, so its bits depend
// neither on threads nor on the other rows nor on the GemmChoice. Stateless; one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/cpu/gemm.h"

namespace gp::engine {

// Thread t's workspace starts at workspace + t * stride_bytes and has at least
// runspec::kGemmThreadWorkspaceBytes. REQUIRES: kernels.tiles, operands in bf16, no packed weight.
void RunTileGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                 int64_t stride_bytes, const GemmArgs& args, const GemmChoice& choice);

}  // namespace gp::engine
