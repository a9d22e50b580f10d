// The address file: what a daemon tells whoever started it, once it serves. JSON with the addresses
// and the process number, written in one piece. May be called from any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::daemon {

struct ServedAddresses {
  std::string address;  // the coordinator's: the daemon's own, or the one it is connected to
  std::string metrics;  // HOST:PORT
};

// Writes nothing when `path` is empty.
Status WriteAddressFile(const std::string& path, const ServedAddresses& addresses);

}  // namespace gp::daemon
