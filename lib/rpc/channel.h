// Channels: how clients and agents reach a coordinator. Thread-safe.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "rpc/tls.h"

namespace gp::rpc {

struct ChannelOptions {
  // A peer that vanished is noticed after keepalive_time + keepalive_timeout. The server allows
  // pings this often.
  std::chrono::milliseconds keepalive_time = std::chrono::seconds(10);
  std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(5);
  // Limit for one attempt to connect, HTTP/2 settings included. A busy machine may need seconds.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  // The longest wait between attempts to connect. Short, because a coordinator restarts in seconds.
  std::chrono::milliseconds reconnect_max = std::chrono::seconds(2);
  int message_bytes_max = 16 << 20;
  // TLS for connections to HOST:PORT. If absent, they are not encrypted. A Unix socket needs no
  // encryption.
  std::optional<ChannelTls> tls;
};

// A lazy channel to HOST:PORT or unix:PATH; it connects at the first call and reconnects by itself.
// Channels share no connections, so a new channel never inherits the back-off of an old one. The
// directory of a socket with a path of more than 107 bytes must exist already.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options = {});

}  // namespace gp::rpc
