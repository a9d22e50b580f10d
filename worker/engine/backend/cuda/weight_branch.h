// WeightBranch: computes gradients of weights on a stream of its own, beside the operations of the
// main stream, which do not need them. The bits stay those of one stream: the same kernels with the
// same algorithms, in another order in time. Belongs to the backend. One thread calls.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/cublas_lt.h"
#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/device_allocations.h"
#include "worker/engine/backend/cuda/linear_products.h"
#include "worker/engine/backend/cuda/runtime.h"

namespace gp::engine {

// Memory that an operation reads or writes.
struct MemoryRange {
  const void* begin = nullptr;
  int64_t bytes = 0;
};

inline MemoryRange RangeOf(Buffer buffer, int64_t count) {
  return {buffer.data, buffer.data == nullptr ? 0 : count * BytesOf(buffer.type)};
}

class WeightBranch {
 public:
  // `main` outlives me. My workspace is in addition to the planned one.
  WeightBranch(const CudaBackendOptions& options, const CudaStream& main);
  ~WeightBranch();
  WeightBranch(const WeightBranch&) = delete;
  WeightBranch& operator=(const WeightBranch&) = delete;

  int64_t device_bytes() const { return workspace_.bytes(); }

  // Begins after what the main stream holds now.
  void BackwardWeight(const LinearBackwardWeight& args);
  // The main stream goes on after the operations of mine that read memory which its next operation
  // writes. That operation neither reads nor writes what I write.
  void AwaitReadersOf(std::initializer_list<MemoryRange> written);
  // The main stream goes on after all my operations.
  void AwaitAll();

 private:
  struct Operation {
    MemoryRange dy;
    MemoryRange x;
    CudaEvent done{CudaEvent::Timing::kOff};
  };

  // The main stream goes on after the first `count` operations.
  void Await(size_t count);

  const CudaStream& main_;
  const CudaStream stream_;
  CudaWorkspace workspace_;
  CublasLt products_;
  LinearProducts linear_;
  const CudaEvent begun_{CudaEvent::Timing::kOff};
  std::deque<Operation> running_;  // in the order of my stream
};

}  // namespace gp::engine
