// The matrix product for few rows, as a decoder needs it: one row per sequence. It reads B once,
// unpacked (kernels/gemm_skinny.h), and divides C's columns among the threads. Every element has
// the same bits as with Gemm. Stateless; one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/cpu/gemm.h"

namespace gp::engine {

// Whether RunSkinnyGemm can compute the product and is faster.
bool IsSkinny(const GemmArgs& args);

// Thread t's workspace starts at workspace + t * stride_bytes and has at least
// runspec::kGemmThreadWorkspaceBytes. REQUIRES: IsSkinny(args).
void RunSkinnyGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                   int64_t stride_bytes, const GemmArgs& args);

}  // namespace gp::engine
