// Converts sweeps to the messages that users see. Pure functions; thread-safe.
#pragma once

#include <functional>

#include "coordinator/state/cluster.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/sweep_service.pb.h"

namespace gp::coordinator {

// Without its trials; with their numbers.
v1::Sweep ToProto(const Cluster& cluster, const Sweep& sweep);

// Adds the trials. `progress` returns what a run has reported.
using ProgressOf = std::function<Progress(const RunId& run)>;
void AddTrials(const Cluster& cluster, const Sweep& sweep, const ProgressOf& progress,
               v1::Sweep& to);

}  // namespace gp::coordinator
