// Explains why the TLS handshake with a server fails: gRPC only says "certificate verify failed".
// May be called from any thread; blocks while it connects.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/tls.h"

namespace gp::rpc {

// Looks at the certificates that the server at HOST:PORT presents.
//   FailedPrecondition: one is not valid yet, or has expired, by this machine's clock (`now`).
//   PermissionDenied: no authority of `tls.ca` has signed any of them.
// OK if neither is the case, or if the server cannot be reached within `timeout`.
Status ExplainCertificates(const std::string& address, const ChannelTls& tls, WallTime now,
                           std::chrono::nanoseconds timeout);

}  // namespace gp::rpc
