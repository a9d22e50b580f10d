// Limits on a trainer's messages. A trainer that sends anything else, or more, is killed: its
// messages become part of the agent's reports, which also carry the node's other runs. Pure
// functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "contract/messages.h"

namespace gp::agent {

// An honest trainer's largest message, its last words, has a few KiB.
inline constexpr uint32_t kEngineMessageBytesMax = 256 << 10;
// Written checkpoints that the agent keeps while the coordinator is away: the newest ones.
inline constexpr size_t kUnansweredMax = 32;
// Those that one trainer may send between two turns of the agent's loop.
inline constexpr int kWrittenPerTurnMax = 64;

// The problem with a trainer's message, as a reason; empty if there is none.
std::string Misbehaviour(const link::Message& message);

}  // namespace gp::agent
