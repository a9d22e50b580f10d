// Decides whether a user's request about a sweep is allowed; called by Admit. Pure; thread-safe.
#pragma once

#include "coordinator/state/admission.h"

namespace gp::coordinator {

// The most trials of all sweeps that have not ended; the scheduler visits each in every turn.
inline constexpr size_t kLiveTrialsMax = 10'000;
// The most of these that one user with a token has, so that there is room for others.
inline constexpr size_t kUserTrialsMax = 2'500;

// AlreadyExists: the namespace has a sweep of this name that has not ended, or the request id was
// used for another sweep. ResourceExhausted: there are too many trials. A repeated request is
// replayed.
StatusOr<Admission> AdmitSweep(const Cluster& cluster, const Event& event, const SweepSpec& spec);

// NotFound: there is no such sweep. FailedPrecondition: it has ended, except as cancelled.
StatusOr<Admission> AdmitSweepCancel(const Cluster& cluster, const SweepCancelled& cancelled);

}  // namespace gp::coordinator
