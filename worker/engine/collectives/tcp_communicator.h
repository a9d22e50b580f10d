// TcpCommunicator: the Communicator between processes. Two connections to every peer, TCP_NODELAY,
// non-blocking, driven only by the calling thread; Abort severs them. Ranks on one machine add
// gradients in shared memory (node_reduction.h). Bytes on the wire: docs/formats/collectives.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/node_reduction.h"
#include "worker/engine/collectives/socket.h"
#include "worker/engine/collectives/tcp_group.h"
#include "worker/engine/collectives/tree_plan.h"
#include "worker/engine/collectives/wire.h"

namespace gp::engine {

class TcpCommunicator final : public Communicator {
 public:
  // Connects the group (tcp_group.h), and the ranks of each machine (node_group.h). A group of one
  // needs no addresses that can be reached.
  static std::unique_ptr<TcpCommunicator> Connect(const GroupOptions& options,
                                                  const TcpListener& listener,
                                                  const std::stop_token& stop = {});

  int rank() const override { return wire_.rank(); }
  int size() const override { return wire_.size(); }
  std::span<float> Allocate(size_t count) override;
  size_t overlap_elements() const override;
  void AllReduceTree(std::span<float> values,
                     const std::vector<std::span<float>>& partials) override;
  void AllReduceParts(TreeParts& parts) override;
  void AllReduceMax(std::span<double> values) override;
  void Broadcast(std::span<std::byte> bytes, int root) override;
  void CopyTo(std::span<std::byte> bytes, int from, const std::vector<int>& to) override;
  void Barrier() override;
  void SetTimeout(std::chrono::milliseconds timeout) override { wire_.SetTimeout(timeout); }
  void Abort(const std::string& reason) override { wire_.Abort(reason); }

  // The number of connections closed while the group formed, because they were not of this epoch.
  int strangers() const { return strangers_; }
  // The number of sets of ranks that share memory; a rank that shares with no other is its own set.
  size_t nodes() const { return nodes_; }

 private:
  TcpCommunicator(const GroupOptions& options, TcpGroup group, const std::stop_token& stop);

  void Send(std::span<std::byte> bytes, bool is_root, const std::vector<int>& peers,
            const char* name);
  void JoinNode(const GroupOptions& options, const std::stop_token& stop);
  void CheckPartials(const std::vector<std::span<float>>& partials) const;

  const TreePlan plan_;
  const int strangers_;
  Wire wire_;
  size_t nodes_ = 1;
  std::unique_ptr<NodeReduction> reduction_;  // null when no two ranks share memory
  std::vector<float> ring_;
};

}  // namespace gp::engine
