// The address file (--address-file): the program that started a daemon reads in it where the daemon
// serves. The daemon writes it atomically once it serves: JSON with the addresses and the process
// number. May be called from any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::daemon {

struct ServedAddresses {
  std::string address;  // the coordinator's: the daemon's own, or the one it is connected to
  std::string metrics;  // HOST:PORT
  std::string listen;   // HOST:PORT where a coordinator serves others; empty: nowhere
};

// Writes nothing when `path` is empty.
Status WriteAddressFile(const std::string& path, const ServedAddresses& addresses);

}  // namespace gp::daemon
