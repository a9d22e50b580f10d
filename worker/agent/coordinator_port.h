// CoordinatorPort: the interface with which the agent's loop sends to the coordinator without
// waiting. CoordinatorClient implements it with gRPC; tests use a fake. Thread-safe.
#pragma once

#include <cstdint>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

class CoordinatorPort {
 public:
  virtual ~CoordinatorPort() = default;

  // Queues a report with the node's whole state; it replaces a report that was not sent yet.
  // `urgent`: send it now, else at the next interval. The newest report is sent at every interval,
  // also unchanged, as a sign of life; the coordinator's Welcome sets the interval. Returns the
  // report's number, counted from 1.
  virtual uint64_t Report(v1::AgentReport report, bool urgent) = 0;
  // A turn of the agent's loop. When the loop has not turned for some seconds, the newest report is
  // no sign of life and is not sent again.
  virtual void NoteTurn() = 0;
  // The number of the newest report that was put on the stream.
  virtual uint64_t ReportedThrough() const = 0;

  // Queues the item until it is acknowledged, also across reconnections.
  virtual void Tell(v1::TelemetryItem item) = 0;
};

}  // namespace gp::agent
