// NodeReduction: an all-reduce along the fixed tree in a group in which some ranks share memory.
// The ranks of a node add directly in each other's buffers, each its part of the elements, and
// write the result to all of them. Only sums between nodes go over the network. Messages over the
// sockets signal that a part is complete. A message also orders memory accesses between its two
// ranks, and shows when a peer has died. Owned by a communicator; one thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker/engine/collectives/node_memory.h"
#include "worker/engine/collectives/node_plan.h"
#include "worker/engine/collectives/wire.h"

namespace gp::engine {

class NodeReduction {
 public:
  // `peers` by rank: the memory of the own node's other ranks. `memory` may be null for a rank that
  // is alone on its node.
  NodeReduction(const TreePlan& whole, const std::vector<size_t>& node_of,
                std::unique_ptr<NodeMemory> memory, std::vector<std::optional<PeerMemory>> peers);

  // Like Communicator::Allocate.
  std::span<float> Allocate(size_t count);

  // Like Communicator::AllReduceTree. Memory that is not from Allocate is copied in and out.
  void Run(Wire& wire, std::span<float> values, const std::vector<std::span<float>>& partials);

 private:
  // Addresses that hold for one call.
  struct Views {
    std::vector<float*> leaves;   // by leaf of the whole plan; those of this node
    std::vector<float*> results;  // by mate: the destination of its result
  };

  bool is_alone() const { return other_mates_.empty(); }
  bool IsShared(std::span<const float> values) const;
  std::span<float> Shared(std::span<float> values, size_t index);
  Views Publish(Wire& wire, std::span<float> values, const std::vector<std::span<float>>& shared,
                std::span<float> result);
  void Meet(Wire& wire, Operation operation, size_t count);
  void SumWithin(const Views& views, size_t count) const;
  void SumAcross(Wire& wire, const Views& views, size_t count);
  void Spread(const Views& views, ElementRange range, const float* from) const;

  const TreePlan whole_;
  const NodePlan plan_;
  const std::unique_ptr<NodeMemory> memory_;
  std::vector<std::optional<PeerMemory>> peers_;
  std::vector<int> other_mates_;
  std::vector<std::span<float>> staged_;  // by partial: copies of memory that is not from Allocate
  std::vector<float> ring_;
};

}  // namespace gp::engine
