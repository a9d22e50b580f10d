// TcpCommunicator: the Communicator between processes. One connection to every peer, TCP_NODELAY,
// non-blocking, driven by the calling thread alone; Abort severs them. Bytes on the wire:
// docs/formats/collectives.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/exchange.h"
#include "worker/engine/collectives/socket.h"
#include "worker/engine/collectives/tcp_group.h"
#include "worker/engine/collectives/tree_exchange.h"

namespace gp::engine {

class TcpCommunicator final : public Communicator {
 public:
  // Connects the group (tcp_group.h). A group of one needs no addresses that can be reached.
  static std::unique_ptr<TcpCommunicator> Connect(const GroupOptions& options,
                                                  const TcpListener& listener,
                                                  const std::stop_token& stop = {});

  int rank() const override { return plan_.rank; }
  int size() const override { return plan_.world_size; }
  void AllReduceTree(std::span<float> values,
                     const std::vector<std::span<float>>& partials) override;
  void AllReduceMax(std::span<double> values) override;
  void Broadcast(std::span<std::byte> bytes, int root) override;
  void Barrier() override;
  void Abort(const std::string& reason) override;

  // Connections that were closed while the group formed because they were not of this epoch.
  int strangers() const { return strangers_; }

 private:
  static constexpr size_t kHeaderBytes = 24;

  // The header of one collective, to and from one peer.
  struct Headers {
    std::array<std::byte, kHeaderBytes> sent;
    std::array<std::byte, kHeaderBytes> received;
  };

  TcpCommunicator(const GroupOptions& options, TcpGroup group);

  std::vector<Lane> BeginLanes(uint32_t operation, size_t size);
  void Run(std::vector<Lane>& lanes, const std::string& name,
           const std::function<void()>& progressed);
  void CheckNotAborted(const std::string& name);
  void CheckHeaders(const std::vector<Lane>& lanes, const std::string& name) const;

  const TreePlan plan_;
  const std::chrono::milliseconds timeout_;
  const std::vector<Socket> peers_;
  const int strangers_;
  uint64_t sequence_ = 0;
  std::vector<Headers> headers_;
  std::vector<float> ring_;
  std::mutex mutex_;
  std::string abort_reason_;  // guarded by mutex_; empty until Abort
};

}  // namespace gp::engine
