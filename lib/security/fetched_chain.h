// Fetches the certificates that a server presents, when only the digest of its authority is known.
// Sends nothing except the TLS handshake. May be called from any thread; blocks. REQUIRES: the
// process ignores SIGPIPE, as every program of gp does.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"
#include "security/certificate.h"

namespace gp::security {

// Where a server listens: a host without brackets, and a port.
struct ServerEndpoint {
  std::string host;
  int port = 0;
};

// The chain that the server presents, its own certificate first, as sent and not verified.
// Unavailable when it cannot be reached or does not speak TLS 1.3 within `timeout`.
StatusOr<std::vector<Certificate>> FetchChain(const ServerEndpoint& place,
                                              std::chrono::nanoseconds timeout);

// Of the certificates that the server presents, the one whose SHA-256 is `digest` (64 hexadecimal
// digits, any case). PermissionDenied when there is none: the server, or its authority, is not the
// expected one.
StatusOr<Certificate> FetchAuthority(const ServerEndpoint& place, const std::string& digest,
                                     std::chrono::nanoseconds timeout);

}  // namespace gp::security
