// What a coordinator may ask of an agent. A coordinator that lies, or that was taken over, gets no
// trainer to write outside the storage root and no memory for more than a node can hold. Pure
// functions; thread-safe.
#pragma once

#include <string>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

inline constexpr int kAssignmentsMax = 4096;  // of one desired state

// Why no trainer is started for the assignment; empty when nothing is wrong. `storage_root` is the
// agent's; empty: paths are not checked.
std::string AssignmentRefusal(const v1::Assignment& assignment, const std::string& storage_root);

// Why the trainer of the assignment is not told of its group; empty when nothing is wrong.
std::string MembershipRefusal(const v1::Assignment& assignment);

}  // namespace gp::agent
