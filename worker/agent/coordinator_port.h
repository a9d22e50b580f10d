// CoordinatorPort: how the agent's loop speaks to the coordinator without waiting for it.
// CoordinatorClient does it over gRPC, tests with a fake. Thread-safe.
#pragma once

#include <cstdint>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

class CoordinatorPort {
 public:
  virtual ~CoordinatorPort() = default;

  // The whole state of the node, replacing what was not sent yet. `urgent`: send it now, else with
  // the next interval. Returns its number, counted from 1.
  virtual uint64_t Report(v1::AgentReport report, bool urgent) = 0;
  // The number of the newest report that was put on the stream.
  virtual uint64_t ReportedThrough() const = 0;

  // Queued until acknowledged, over any number of connections.
  virtual void Tell(v1::TelemetryItem item) = 0;
};

}  // namespace gp::agent
