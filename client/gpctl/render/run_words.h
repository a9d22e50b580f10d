// The words for a run's state and times. Pure functions; thread-safe.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "client/gpctl/terminal/color.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// Whether a person should look at the run's newest warning. One that says "recovered: …" tells that
// an earlier warning is over.
bool IsWarned(const v1::Run& run);
// The state's name; "diverged" of a run that succeeded and whose newest warning says so.
std::string StateWord(const v1::Run& run);

// Green while it runs or when it succeeded, yellow when it waits or ended with a warning, red when
// it failed, grey when it was cancelled.
Color StateColor(const v1::Run& run);

// Who submitted it: "alice", "owner", "anyone"; empty of a coordinator of an older version.
std::string UserName(const v1::Run& run);

// Seconds since 1970; 0 for a time that was never set.
double Seconds(const google::protobuf::Timestamp& time);

// The duration of the run so far: from its start (its submission when it never started) to its end
// or `now`.
double ElapsedSeconds(const v1::Run& run, double now);

}  // namespace gp::gpctl
