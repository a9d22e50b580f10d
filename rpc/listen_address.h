// ListenAddress: HOST:PORT as given to --listen. A value. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::rpc {

struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;      // 0: any free one

  // "127.0.0.1:5000", "[::1]:5000".
  std::string Text() const;
  // The same with a host that a client can connect to: 0.0.0.0 and :: become loopback.
  ListenAddress Reachable() const;
};

// InvalidArgument names the text and the expected form.
StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// Tries to bind and lets go again, because gRPC does not tell why it could not. AlreadyExists: the
// port is in use.
Status CheckBindable(const ListenAddress& address);

}  // namespace gp::rpc
