// NcclTree: the all-reduce along the fixed tree (shard_plan.h) on GPUs. The elements are cut into
// one chunk per rank; each rank receives from its peers their partial sums of its chunk, finishes
// the tree for it, and sends it to all. When W divides V, 2*(W-1)/W of the bytes move each way. The
// additions are the same for every world size, so the result has the same bits. Owned by
// NcclCommunicator; its thread calls.
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/collectives/nccl_connection.h"
#include "worker/engine/collectives/tree_plan.h"

namespace gp::engine {

class NcclTree {
 public:
  // Both must outlive this object. Allocates all the memory that it will need.
  NcclTree(const TreePlan& plan, NcclConnection& connection);

  // Queues the whole all-reduce into `stream`.
  void Run(std::span<float> values, const std::vector<std::span<float>>& partials,
           cudaStream_t stream);

 private:
  // Elements that are reduced together. It limits the memory for the peers' partial sums.
  static constexpr size_t kPieceElements = size_t{1} << 22;

  using Spans = std::vector<std::span<float>>;

  void RunPiece(std::span<float> values, const Spans& partials, cudaStream_t stream);
  Spans LeavesOfOwnChunk(const Spans& partials, ElementRange own);
  void Exchange(const Spans& partials, const Spans& leaves, size_t count, cudaStream_t stream);
  void Gather(std::span<float> values, cudaStream_t stream);

  const TreePlan& plan_;
  NcclConnection& connection_;
  const size_t room_;     // elements of the longest chunk
  DeviceMemory scratch_;  // the peers' partial sums of the own chunk
};

}  // namespace gp::engine
