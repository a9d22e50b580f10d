// RpcServer: a gRPC server with health and reflection, and clear errors when it cannot listen.
// Built by a daemon, owned by one thread; the services it serves are called from gRPC's threads and
// must outlive it.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/answer_header.h"
#include "rpc/call_observer.h"
#include "rpc/socket_name.h"
#include "rpc/tls.h"

namespace gp::rpc {

// One place where a server listens.
struct Endpoint {
  std::string address;           // HOST:PORT, port 0 takes a free one; or unix:PATH
  std::optional<ServerTls> tls;  // for HOST:PORT; absent: no encryption
};

struct ServerOptions {
  std::vector<Endpoint> endpoints = {{.address = "127.0.0.1:0"}};  // at least one
  // A longer request is refused before it is parsed. An agent sends about 1 MiB at a time.
  int request_bytes_max = 4 << 20;
  int response_bytes_max = 16 << 20;
  int calls_per_connection_max = 256;  // further calls wait at the client
  // A connection whose TLS handshake takes longer is closed, because it uses a file descriptor.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  OnCallEnded on_call_ended;  // may be empty
  DescribeServer describe;    // for the header of each answer; may be empty
  int threads_max = 64;  // for synchronous services; callback services need no threads of their own
};

class RpcServer {
 public:
  // Returns a server that listens on every endpoint. InvalidArgument for an address that cannot be
  // read, AlreadyExists when the port or the socket is in use, PermissionDenied for a privileged
  // port; each names the address. For certificates that cannot be used, the errors of CheckTls.
  // Only the user of this process can connect to a Unix socket. Files that other threads make
  // during this call are private too, because the umask belongs to the process.
  static StatusOr<std::unique_ptr<RpcServer>> Start(const ServerOptions& options,
                                                    const std::vector<grpc::Service*>& services);
  ~RpcServer();

  // The addresses that clients can use, in the order of the endpoints: HOST:PORT with the real
  // port, or unix:PATH.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // The first address.
  const std::string& address() const { return addresses_.front(); }

  // A channel to this server without the network. Its calls wait for the same threads as all
  // others.
  std::shared_ptr<grpc::Channel> ChannelToItself() const;

  // Stops accepting, lets calls in flight finish until `grace` has passed, then cancels them.
  // Idempotent.
  void Shutdown(std::chrono::nanoseconds grace);

 private:
  RpcServer(std::vector<SocketName> sockets, std::unique_ptr<grpc::Server> server,
            std::vector<std::string> addresses);

  const std::vector<SocketName> sockets_;  // the names under which gRPC removes them at the end
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
};

}  // namespace gp::rpc
