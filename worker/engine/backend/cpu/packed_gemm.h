// The matrix product with a weight that was packed once, at load, for a decoder: B's panels are
// stored in the order in which the kernels read them, so B streams through once for up to 64 rows
// and nothing is copied. Threads take panels dynamically. Every element has the same bits as with
// Gemm. Stateless; one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/cpu/gemm.h"

namespace gp::engine {

// Packs rows of w into panels of kernels.width * kernels.tile_vectors rows, in the layout of
// kernels.pack with bf16 in pairs.
void PackWeight(const KernelSet& kernels, ThreadPool& pool, const WeightRows& args);

// REQUIRES: args.b_packed. The workspace is Gemm's.
void RunPackedGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                   int64_t stride_bytes, const GemmArgs& args);

}  // namespace gp::engine
