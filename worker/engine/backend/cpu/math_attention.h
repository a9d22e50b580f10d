// MathAttention: attention by its plain formula, with the (T, T) probabilities of every head
// stored: three passes forward and five backward, each a matrix product or a loop over rows, and
// with dropout one more in either direction. Flash attention is compared with it. Owned by a CPU
// backend; one thread calls.
#pragma once

#include <cstdint>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cpu/gemm.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {

class MathAttention {
 public:
  MathAttention(const KernelSet& kernels, ThreadPool& pool, Gemm& gemm)
      : kernels_(kernels), pool_(pool), gemm_(gemm) {}

  void Forward(const StoredAttention& args, Buffer out);
  void Backward(const StoredAttention& args, Buffer dqkv, Buffer dout);

 private:
  void Drop(const StoredAttention& args);

  const KernelSet& kernels_;
  ThreadPool& pool_;
  Gemm& gemm_;
};

}  // namespace gp::engine
