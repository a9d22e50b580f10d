// ListenAddress: where a server listens and its clients connect, as given to --listen: HOST:PORT,
// or unix:PATH for a socket in the file system, which only its owner can reach. A value.
// Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::rpc {

struct ListenAddress {
  std::string host;  // without brackets; empty for a socket
  int port = 0;      // 0: any free one
  std::string path;  // a Unix socket's absolute path; empty for TCP

  bool is_socket() const { return !path.empty(); }
  // True when other machines cannot reach it: a Unix socket, 127.0.0.0/8, ::1 or "localhost".
  bool IsLocal() const;
  // "127.0.0.1:5000", "[::1]:5000", "unix:/run/gp/coordinator.sock".
  std::string Text() const;
  // The same with a host that a client can connect to: 0.0.0.0 and :: become loopback.
  ListenAddress Reachable() const;
};

// InvalidArgument names the text and the expected form.
StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// Whether `text` is an address that only this machine can reach; false when it is not an address.
bool IsLocalAddress(std::string_view text);

// Tries to bind, then closes the socket again, because gRPC does not report why it cannot bind.
// AlreadyExists: the port is in use, or another program listens at the socket. A socket left by a
// killed program is not an error.
Status CheckBindable(const ListenAddress& address);

// For a server without encryption and authentication. InvalidArgument unless the address is local,
// or `insecure` allows access to everyone who can reach it.
Status CheckPrivate(const ListenAddress& address, bool insecure);

}  // namespace gp::rpc
