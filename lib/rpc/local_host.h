// This machine's address as seen by other machines. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::rpc {

// The address of this machine from which it reaches `host`, according to the kernel's routes;
// nothing is sent. Loopback for a host on this machine. Unavailable when the host is unknown or
// there is no route to it.
StatusOr<std::string> LocalHostToward(const std::string& host);

}  // namespace gp::rpc
