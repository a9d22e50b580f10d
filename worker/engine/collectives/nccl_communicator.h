// NcclCommunicator: the Communicator between GPUs, one process and rank each, on this process's
// current device. Host data go through a small pinned buffer. Gradients are summed in a stream of
// their own while the device computes. A deterministic run sums along the fixed tree, with the same
// bits for every world size; any other run uses NCCL's all-reduce. NCCL does not encrypt: use a
// private network.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/collectives/nccl_connection.h"
#include "worker/engine/collectives/nccl_tree.h"

namespace gp::engine {

// Makes the id that every rank connects with, in hex; rank 0 calls it. NcclUnavailable without the
// library.
std::string MakeNcclId();

class NcclCommunicator final : public Communicator, private DeviceCollectives {
 public:
  // Connects the group with `id` from MakeNcclId; only the number of addresses matters.
  // CollectiveError when the other ranks do not connect, when the id is malformed, and when `stop`
  // is requested.
  NcclCommunicator(const GroupOptions& options, const std::string& id, bool deterministic,
                   const std::stop_token& stop = {});

  int rank() const override { return connection_.rank(); }
  int size() const override { return connection_.size(); }
  std::span<float> Allocate(size_t) override { return {}; }
  size_t overlap_elements() const override;
  void AllReduceTree(std::span<float> values,
                     const std::vector<std::span<float>>& partials) override;
  void AllReduceMax(std::span<double> values) override;
  void Broadcast(std::span<std::byte> bytes, int root) override;
  void Barrier() override;
  void SetTimeout(std::chrono::milliseconds timeout) override { connection_.SetTimeout(timeout); }
  void Abort(const std::string& reason) override { connection_.Abort(reason); }
  DeviceCollectives* device() override { return this; }

 private:
  void Follow(void* queue) override { followed_ = static_cast<cudaStream_t>(queue); }
  void BeginAllReduceTree(std::span<float> values,
                          const std::vector<std::span<float>>& partials) override;
  void BeginSum(std::span<double> values) override;
  void BeginAllGather(std::span<std::byte> bytes, size_t element_size) override;
  void Rejoin() override;
  void Await() override { Await("waiting for the GPU"); }

  void Await(const char* operation);
  void FollowQueue();
  void SumByNccl(std::span<float> values, const std::vector<std::span<float>>& partials);
  void Reduce(const char* operation, std::span<double> values, ncclRedOp_t by);
  ElementRange PartOfRank(size_t count, int rank) const;
  bool HasEqualParts(size_t count) const;

  const TreePlan plan_;
  // connection_ is declared after these members, so it is destroyed first, which ends the work that
  // still runs in the stream.
  const CudaStream stream_;
  const CudaEvent issued_{CudaEvent::Timing::kOff};  // recorded in the followed queue
  const CudaEvent done_{CudaEvent::Timing::kOff};    // recorded in stream_
  const PinnedMemory pinned_;
  const DeviceMemory staging_;
  std::optional<NcclTree> tree_;  // when deterministic
  NcclConnection connection_;
  std::optional<cudaStream_t> followed_;
};

}  // namespace gp::engine
