// The version of the messages between gp-worker and gp-coordinator (gp.v1.AgentService). Each side
// sends the newest version that it speaks; AgentHello also has the agent's oldest one. The
// coordinator refuses an agent whose versions do not overlap with its own
// (coordinator/service/agent_messages.h). Raise kAgentProtocol when an older peer would misread a
// message, and kAgentProtocolMin when the older form is no longer understood.
#pragma once

namespace gp::contract {

inline constexpr int kAgentProtocol = 1;
inline constexpr int kAgentProtocolMin = 1;

}  // namespace gp::contract
