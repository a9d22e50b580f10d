// Gemm: the matrix product of the CPU backend, after Goto & van de Geijn 2008
// (doi:10.1145/1356052.1356053): one operand is packed into panels that stay in cache while rows of
// the other one stream past them. Threads share out rows and columns of the output, never k, and
// every element is one sum over ascending k, so its bits depend neither on threads nor on the other
// rows nor on the KernelChoices. Owned by a CPU backend; one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/cpu/kernel_choices.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {

// output (m, n) = sum over k of a(i, k) * b(j, k), finished as `output` says. `accumulate` adds to
// what y holds and needs a plain output and a b that is not packed. a and b have one type.
struct GemmArgs {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmOperand a;
  GemmOperand b;
  TileOutput output;
  bool accumulate = false;
  bool b_packed = false;    // b.data was packed with PackWeight (packed_gemm.h)
  bool lower_half = false;  // output elements (i, j) with j > i may be left out

  GemmProblem problem() const;
};

class Gemm {
 public:
  // Thread t's workspace starts at workspace + t * stride_bytes and has at least
  // runspec::kGemmThreadWorkspaceBytes.
  Gemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace, int64_t stride_bytes,
       const KernelChoices& choices)
      : kernels_(kernels),
        pool_(pool),
        workspace_(workspace),
        stride_bytes_(stride_bytes),
        choices_(choices) {}

  void Run(const GemmArgs& args);

 private:
  const KernelSet& kernels_;
  ThreadPool& pool_;
  std::byte* workspace_;
  int64_t stride_bytes_;
  const KernelChoices choices_;
};

}  // namespace gp::engine
