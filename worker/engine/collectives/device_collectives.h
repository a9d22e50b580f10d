// DeviceCollectives: the part of a communicator that exists for GPUs only. Its collectives work on
// device memory. They are issued now and run later, in streams of their own, at the same time as
// work of the queue that they follow. Only Await waits for the device. One per communicator, by
// Communicator::device(); the same thread calls, in the same order on every rank. Errors are
// CollectiveErrors.
//
//   Follow(queue)             once
//   BeginAllReduceTree(...)   any number: each as soon as the queue holds the work that makes its
//                             input
//   Rejoin()                  the queue continues with the results
//   Await()                   before the host waits for the queue: a lost peer is noticed
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gp::engine {

class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;

  // Sets the queue whose work the calls below follow: a cudaStream_t (Backend::queue()).
  virtual void Follow(void* queue) = 0;

  // Like Communicator::AllReduceTree, for device memory.
  virtual void BeginAllReduceTree(std::span<float> values,
                                  const std::vector<std::span<float>>& partials) = 0;

  // Element-wise sum of device memory, in an order that NCCL chooses.
  virtual void BeginSum(std::span<double> values) = 0;

  // Copies every rank's own part of `bytes` to all others: part r of n bytes is elements PartOf(n /
  // size, r, W) of `size` bytes each (tree_plan.h).
  virtual void BeginAllGather(std::span<std::byte> bytes, size_t element_size) = 0;

  // Work that the queue gets from now on runs after everything that was begun.
  virtual void Rejoin() = 0;

  // Returns when everything that was begun is complete. Waits at most the communicator's timeout.
  virtual void Await() = 0;
};

}  // namespace gp::engine
