// Limits on a trainer's messages. The agent kills a trainer that sends other or larger messages,
// because its messages become part of the agent's reports, which also carry the node's other runs.
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "contract/messages.h"

namespace gp::agent {

// The largest message of a correct trainer, Failed, has a few KiB.
inline constexpr uint32_t kEngineMessageBytesMax = 256 << 10;
// Written checkpoints of one rank that the agent keeps until the coordinator has sealed or refused
// them. A newer one replaces the oldest.
inline constexpr size_t kUnansweredMax = 32;
// CheckpointReports that one trainer may send in one turn of the agent's loop.
inline constexpr int kWrittenPerTurnMax = 64;

// The problem with a trainer's message, as a reason; empty if there is none.
std::string Misbehaviour(const link::Message& message);

}  // namespace gp::agent
