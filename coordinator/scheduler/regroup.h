// Regroup: when ranks of a run died, whether the others go on in place, and as which group. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Whether the node of `place` is connected and its rank has its state, so that it can enter another
// group.
bool Survives(const Cluster& cluster, const Run& run, const Placement& place, const Policy& policy);

// The rank of `place` as a member of the next group, with `rank`.
Placement NextMember(const Cluster& cluster, const Run& run, const Placement& place, int rank);

// Whether a rank has done all its steps.
bool HasFinished(const Cluster& cluster, const Run& run, const Placement& place);

// Every rank of the group trains, and none has finished: the group may change. REQUIRES: the run
// holds slots.
bool IsSettled(const Cluster& cluster, const Run& run);

// A group that changes now may not take another step together.
bool IsNearItsEnd(const Cluster& cluster, const Run& run);

// RunReconfigured with the ranks of the run that are alive, without `lost`, which has failed with
// `cause`; `what` describes that. Nullopt when the run starts again from a checkpoint instead: it
// is not of a kind that goes on (Submission::survivors_min), too few ranks are left, one of them
// has finished, the ranks were told to leave, or the failure may concern the others too. REQUIRES:
// the run holds slots.
std::optional<Action> PlanRegroup(const Cluster& cluster, const Run& run, int lost, ExitCause cause,
                                  const std::string& what, const Policy& policy);

// "the run goes on with 3 of 4 ranks since step 17"
std::string GoesOnWith(const Cluster& cluster, const Run& run, size_t ranks);

// Whether the agent of `place` has no connection, and a rank of another node has waited for a new
// group for longer than Policy::blame_delay: then the ranks there are gone, without the wait for
// the lease. REQUIRES: the run holds slots.
bool IsCutOff(const Cluster& cluster, const Run& run, const Placement& place, const Policy& policy);

// A rank that is not back in a group within Policy::regroup_timeout after it lost a peer, or after
// its new group was decided; nullopt if there is none, and while one of them still computes, saves
// or gets its state from a peer: it will come.
std::optional<int> FindLateMember(const Cluster& cluster, const Run& run, const Policy& policy);

}  // namespace gp::coordinator
