// Limits on a coordinator's requests to an agent. A lying or compromised coordinator cannot make a
// trainer write outside the storage root, nor use memory for more than a node can hold. Pure
// functions; thread-safe.
#pragma once

#include <string>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

inline constexpr int kAssignmentsMax = 4096;  // in one desired state

// Why no trainer is started for the assignment; empty when nothing is wrong. `storage_root` is the
// agent's; empty: paths are not checked.
std::string AssignmentRefusal(const v1::Assignment& assignment, const std::string& storage_root);

// Why the trainer of the assignment is not given its group; empty if all is well.
std::string MembershipRefusal(const v1::Assignment& assignment);

}  // namespace gp::agent
