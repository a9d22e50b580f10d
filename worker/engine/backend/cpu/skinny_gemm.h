// The matrix product for few rows: what a decoder asks for, one row per sequence. B streams through
// once, unpacked (kernels/gemm_skinny.h); threads share out columns of C. Every element has the
// bits that Gemm gives it. Stateless; one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/cpu/gemm.h"

namespace gp::engine {

// Whether RunSkinnyGemm can do the product and is the faster way.
bool IsSkinny(const GemmArgs& args);

// Thread t's workspace starts at workspace + t * stride_bytes and has at least
// runspec::kGemmThreadWorkspaceBytes. REQUIRES: IsSkinny(args).
void RunSkinnyGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                   int64_t stride_bytes, const GemmArgs& args);

}  // namespace gp::engine
