// Caller: the caller's identity according to the connection and metadata of a call. Unverified,
// except for what gRPC and the kernel have checked. A value; thread-safe.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

#include "security/certificate.h"

namespace gp::rpc {

struct Caller {
  // "ipv4:10.0.0.7:41022", "unix:", "inside" for a call from within the process.
  std::string address;
  // The call came through the coordinator's Unix socket (mode 0600: the kernel admits only its
  // owner and root), or from within the process.
  bool is_socket_owner = false;
  // Taken from the client certificate that TLS verified; empty without a certificate.
  std::string node_id;
  security::Lifetime node_lifetime;
  // The text of the bearer token; empty without an authorization header. A header of another
  // scheme, or more than one, becomes text that is no token, so the call is refused. It may hold a
  // secret: never log it.
  std::string bearer;
  // The call came over TCP without TLS.
  bool is_plain_network = false;
};

Caller ReadCaller(const grpc::CallbackServerContext& context);

}  // namespace gp::rpc
