// Why the TLS handshake with a server fails: gRPC says "certificate verify failed" and no more. May
// be called from any thread; blocks while it connects.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/tls.h"

namespace gp::rpc {

// Looks at the certificates that the server at HOST:PORT presents.
//   FailedPrecondition: one is not good yet, or no more, by this machine's clock (`now`).
//   PermissionDenied: no authority of `tls.ca` has signed them.
// OK when neither is the reason, the server cannot be reached within `timeout` either.
Status ExplainCertificates(const std::string& address, const ChannelTls& tls, WallTime now,
                           std::chrono::nanoseconds timeout);

}  // namespace gp::rpc
