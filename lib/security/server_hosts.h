// The hosts that a server certificate must name. May be called from any thread.
#pragma once

#include <string>
#include <vector>

namespace gp::security {

// The names under which clients of this machine and its networks may reach a server on
// `listen_host`: that host, this machine's name, "localhost" and the loopback addresses. A wildcard
// host (0.0.0.0, ::) becomes the addresses of this machine's interfaces. Sorted, without
// duplicates.
std::vector<std::string> ServerHosts(const std::string& listen_host);

}  // namespace gp::security
