// How long a run will still train. A pure function; thread-safe.
#pragma once

#include "gp/v1/run.pb.h"

namespace gp::client {

// Seconds until the last step at the run's current pace, evaluations and saves included (with a
// coordinator that sends no pace: at the time of its last step). Negative when unknown, as for a
// run without a number of steps.
double SecondsLeft(const v1::Progress& progress);

}  // namespace gp::client
