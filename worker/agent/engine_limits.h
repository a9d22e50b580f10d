// What a trainer may say. One that says anything else, or more, is ended: its messages become part
// of the agent's reports, which carry the other runs of the node too. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "link/messages.h"
#include "worker/agent/rank.h"

namespace gp::agent {

// An honest trainer's largest message, its last words, has a few KiB.
inline constexpr uint32_t kEngineMessageBytesMax = 256 << 10;
inline constexpr size_t kUnansweredMax = 16;  // written checkpoints; honest trainers wait at 2

// What is wrong with a message from the trainer of `rank`, for a reason; empty when nothing is.
std::string Misbehaviour(const Rank& rank, const link::Message& message);

}  // namespace gp::agent
