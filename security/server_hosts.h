// The hosts that a server certificate must name. May be called from any thread.
#pragma once

#include <string>
#include <vector>

namespace gp::security {

// Every name under which clients may reach a server that listens on `listen_host` and tells them to
// use `advertise_host` (empty: none): both, this machine's name, "localhost" and the loopback
// addresses. A host that stands for all addresses (0.0.0.0, ::) becomes the addresses of this
// machine's interfaces. Sorted, each once.
std::vector<std::string> ServerHosts(const std::string& listen_host,
                                     const std::string& advertise_host);

}  // namespace gp::security
