// The words for a run's state and times. Pure functions; thread-safe.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "client/gpctl/terminal/color.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// Whether the run's newest warning needs attention. "recovered: …" means that an earlier warning is
// over.
bool IsWarned(const v1::Run& run);
// The state's name; "diverged" for a run that succeeded but whose newest warning says so.
std::string StateWord(const v1::Run& run);

// Green while it runs or when it succeeded, yellow if it does so with a warning (IsWarned) and in
// all states that wait or change, red when it failed, grey when it was cancelled.
Color StateColor(const v1::Run& run);

// Who submitted it: "alice", "owner", "anyone"; empty from an older coordinator.
std::string UserName(const v1::Run& run);

// "goal=lr, team=research", by key; empty for a run without labels.
std::string LabelsText(const v1::Run& run);

// Seconds since 1970; 0 for a time that was never set.
double Seconds(const google::protobuf::Timestamp& time);

// The duration of the run so far: from its start (its submission when it never started) to its end
// or `now`.
double ElapsedSeconds(const v1::Run& run, double now);

}  // namespace gp::gpctl
