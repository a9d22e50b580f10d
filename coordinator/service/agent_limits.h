// Limits on an agent's messages. Within them an agent cannot fill the coordinator's memory or
// store, whatever it sends; a correct one never comes near them. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::coordinator {

inline constexpr int kSlotsMax = 1024;
inline constexpr int kRanksMax = 4096;  // of one node, ended ones included
inline constexpr int kDataRootsMax = 1024;
// Only this many of the checkpoints that a rank reports as written are read, the newest ones. An
// agent that could not reach the coordinator for a long time may report more.
inline constexpr int kWrittenMax = 64;
inline constexpr size_t kNameBytesMax = 256;
inline constexpr size_t kPathBytesMax = 4096;
inline constexpr size_t kTextBytesMax = 4096;  // longer messages and problems are cut

// InvalidArgument, with the field, when a count or a length is above its limit, or when a name has
// other than printable ASCII characters.
Status CheckLimits(const v1::AgentHello& hello);
Status CheckLimits(const v1::AgentReport& report);

// The first kTextBytesMax bytes of a text of an agent or a rank, as valid UTF-8.
std::string CutText(const std::string& text);

}  // namespace gp::coordinator
