// The settings of the Prometheus endpoint, which every daemon has, and who may reach it. Values and
// pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/setting.h"

namespace gp::daemon {

// The rows metrics.listen, metrics.public and metrics.keys_file.
Setting MetricsListen(std::string& address);
Setting MetricsPublic(bool& allowed);
Setting MetricsKeysFile(std::string& path);

// The settings that decide how the endpoint is served.
struct MetricsAccess {
  std::string listen;            // metrics.listen
  bool is_public = false;        // metrics.public
  bool insecure = false;         // network.insecure
  bool has_certificate = false;  // the daemon has one that it serves with
};

// InvalidArgument when other machines can reach metrics.listen, unless metrics.public is set and
// there is a certificate. With network.insecure any address is allowed. REQUIRES: the address is
// valid.
Status CheckMetricsAccess(const MetricsAccess& access);

// Whether the endpoint is served with TLS: others can reach it, and there is a certificate.
bool MetricsUseTls(const MetricsAccess& access);

}  // namespace gp::daemon
