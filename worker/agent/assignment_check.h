// Limits on a coordinator's requests to an agent. A faulty or compromised coordinator cannot make a
// trainer write outside the storage root, nor make the agent keep requests of unlimited size. Pure
// functions; thread-safe.
#pragma once

#include <string>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

// The most assignments in one desired state; NewestDesiredState ignores a larger state.
inline constexpr int kAssignmentsMax = 4096;

// Why no trainer is started for the assignment; Reconcile then reports the rank as ended with
// CONFIG. Empty when nothing is wrong. `storage_root` is the agent's; empty: paths are not checked.
std::string AssignmentRefusal(const v1::Assignment& assignment, const std::string& storage_root);

// Why the membership (the peers' addresses and the group's secret) is not sent to the trainer;
// Reconcile then kills the trainer. Empty when nothing is wrong.
std::string MembershipRefusal(const v1::Assignment& assignment);

}  // namespace gp::agent
