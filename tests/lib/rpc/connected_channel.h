// ConnectedChannel: for tests, a channel to a server that already listens.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <string>

#include "lib/base/eventually.h"
#include "rpc/channel.h"

namespace gp::rpc {

// Returns a channel that is connected, or whose second attempt to connect has failed; then the next
// call fails with the reason. gRPC 1.51 reads connect()'s errno after other system calls, so the
// first attempt may fail with an unrelated error (fixed in 1.61: grpc/grpc#35064). gp's programs
// retry, but a test that makes a single call does not. The second attempt begins after 100 ms and
// has until `second_attempt` to succeed; a test in which it must fail waits that long.
inline std::shared_ptr<grpc::Channel> ConnectedChannel(
    const std::string& address, const ChannelOptions& options = {},
    std::chrono::milliseconds second_attempt = std::chrono::milliseconds(500)) {
  using std::chrono::system_clock;
  const auto channel = MakeChannel(address, options);
  const auto patience = system_clock::now() + kPatience;
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    if (!channel->WaitForStateChange(state, patience)) break;
    state = channel->GetState(/*try_to_connect=*/true);
  }
  if (state != GRPC_CHANNEL_READY) channel->WaitForConnected(system_clock::now() + second_attempt);
  return channel;
}

}  // namespace gp::rpc
