// How long a run will still train. A pure function; thread-safe.
#pragma once

#include "gp/v1/run.pb.h"

namespace gp::client {

// Seconds until the last step at the run's present pace, evaluations and saves included; negative
// when unknown.
double SecondsLeft(const v1::Progress& progress);

}  // namespace gp::client
