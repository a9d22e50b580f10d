// Converts agents' messages: checks a hello and its protocol version, makes the answer to it, and
// sorts telemetry by run. Pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "coordinator/service/agent_session.h"
#include "coordinator/state/cluster.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::coordinator {

// The error if this agent cannot be served: no protocol version in common
// (contract/agent_protocol.h), a limit exceeded, a newer coordinator seen, a slot listed twice. The
// agent's log shows it.
Status CheckHello(const v1::AgentHello& hello, const AgentServiceOptions& options);

v1::Welcome MakeWelcome(const AgentServiceOptions& options);

// Sets storage_problem if the agent does not see the coordinator's storage root.
NodeConnected ToConnected(const v1::AgentHello& hello, uint64_t session,
                          const AgentServiceOptions& options);

NodeReported ToReported(const v1::AgentReport& report, const NodeId& node, uint64_t session);

v1::DesiredState ToDesired(const Cluster& cluster, const Node& node,
                           const AgentServiceOptions& options);

// Keeps items of a run's current epoch if it is placed on the node, and items of older epochs if it
// was ever placed there. Drops all others. `source` is the agent's incarnation.
TelemetryBatch ToBatch(const v1::Telemetry& telemetry, const std::string& source,
                       const NodeId& node, const Cluster& cluster);

}  // namespace gp::coordinator
