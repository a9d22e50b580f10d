// Sockets between the processes of one machine, for messages that may each carry a descriptor. The
// kernel chooses their names, which vanish with them. Errors are CollectiveError; a connection that
// fails is nullopt. One thread calls.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/engine/collectives/socket.h"

namespace gp::engine {

struct NodeMessage {
  std::vector<std::byte> bytes;
  Socket file;  // an owned descriptor; not valid when none came with the message
};

class NodeListener {
 public:
  NodeListener();

  // The name for ConnectToNode; valid on this machine only.
  const std::string& name() const { return name_; }

  // The next connection, if it is from the same user; nullopt when none came in time, or when it is
  // from another user.
  std::optional<Socket> Accept(SteadyTime deadline, const std::stop_token& stop) const;

 private:
  Socket socket_;
  std::string name_;
};

std::optional<Socket> ConnectToNode(const std::string& name, SteadyTime deadline,
                                    const std::stop_token& stop);

// Sends `bytes`, with a copy of `file` unless that is negative; false when the peer is gone.
bool SendNodeMessage(const Socket& socket, std::span<const std::byte> bytes, int file = -1);

// nullopt when nothing arrived in time.
std::optional<NodeMessage> ReceiveNodeMessage(const Socket& socket, SteadyTime deadline,
                                              const std::stop_token& stop);

}  // namespace gp::engine
