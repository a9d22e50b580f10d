// Gemm: the matrix product of the CPU backend, after Goto & van de Geijn 2008
// (doi:10.1145/1356052.1356053): B is packed into panels that stay in cache while rows of A stream
// past them. Threads share out rows and columns of C, never k, and blocks of k are cut at places
// that depend on k alone, so the bits of C do not depend on threads or on the other rows. Owned by
// a CPU backend; one thread calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/cpu/kernel_set.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {

// output (m, n) = sum over k of a(i, k) * b(j, k), finished as `output` says. `accumulate` adds to
// what y holds and needs a plain output. a and b have one type.
struct GemmArgs {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmOperand a;
  GemmOperand b;
  TileOutput output;
  bool accumulate = false;
};

class Gemm {
 public:
  // `shared` has runspec::GemmSharedWorkspaceBytes; thread t's workspace starts at threads + t *
  // thread_stride_bytes and has at least runspec::GemmThreadWorkspaceBytes.
  Gemm(const KernelSet& kernels, ThreadPool& pool, std::byte* shared, std::byte* threads,
       int64_t thread_stride_bytes)
      : kernels_(kernels),
        pool_(pool),
        shared_(shared),
        threads_(threads),
        thread_stride_bytes_(thread_stride_bytes) {}

  void Run(const GemmArgs& args);

 private:
  const KernelSet& kernels_;
  ThreadPool& pool_;
  std::byte* shared_;
  std::byte* threads_;
  int64_t thread_stride_bytes_;
};

}  // namespace gp::engine
