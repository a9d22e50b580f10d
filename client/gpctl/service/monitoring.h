// Monitoring: the Prometheus that 'gpctl up --monitoring' runs beside the service, with the
// compiled-in rules and alerts of deploy/prometheus. Functions; the Supervisor starts and stops the
// program.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/service/service_directory.h"

namespace gp::gpctl {

// The program `prometheus` on $PATH. NotFound explains how to install it.
StatusOr<std::string> FindPrometheus();

// `address`, or its host with a free port (of loopback) if its port is 0: Prometheus does not
// report the port it took.
StatusOr<std::string> WithFreePort(const std::string& address);

// Writes the configuration that scrapes what `record` names, the rules and the alerts.
Status WriteMonitoringFiles(const ServiceDirectory& directory, const ServiceRecord& record);

// Prometheus' arguments; it keeps its data in the state directory.
std::vector<std::string> PrometheusArguments(const ServiceDirectory& directory,
                                             const std::string& listen);

// Whether something on this machine's loopback accepts connections at the port of `address`,
// whatever its host: Prometheus listens there only.
bool AcceptsConnections(const std::string& address);

}  // namespace gp::gpctl
