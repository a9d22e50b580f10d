// How the ranks of an epoch connect: every rank connects to all lower ones and accepts all higher
// ones, twice each: for partial sums and for finished ones, which thus never wait for each other.
// One thread calls.
#pragma once

#include <stop_token>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/socket.h"

namespace gp::engine {

struct TcpGroup {
  // By rank; this rank's own entry is not valid.
  std::vector<Socket> peers;    // Connection::kMain
  std::vector<Socket> results;  // Connection::kResults
  int strangers = 0;            // connections that were closed because they were not of this epoch
};

// Connects the full mesh. `listener` is the one at options.addresses[options.rank]. A connection is
// closed and counted unless it begins with the greeting of a missing higher rank of this run and
// epoch, with the secret. CollectiveError after options.connect_timeout, with the missing rank;
// when a lower rank refuses this one; when only one side encrypts; and when `stop` is requested.
TcpGroup ConnectTcpGroup(const GroupOptions& options, const TcpListener& listener,
                         const std::stop_token& stop);

}  // namespace gp::engine
