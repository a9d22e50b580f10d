// Converts a ContinueRequest into the event that begins another leg of a run
// (docs/adr/0013-a-run-is-a-list-of-legs.md). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/state/cluster.h"
#include "coordinator/telemetry/run_log.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

struct PreparedLeg {
  Event event;  // LegRequested; the caller fills in the actor
  std::vector<std::string> warnings;
};

// The leg's run file is that of the newest leg with the request's overrides and budget. A new
// budget replaces the old one, and schedule.decay_steps gets the horizon of the newest leg unless
// an override sets the decay.
// InvalidArgument: the request, an override of a key that only a fork may change, or every problem
// of the run file. FailedPrecondition: no steps are left, or nothing would change.
StatusOr<PreparedLeg> PrepareLeg(const v1::ContinueRequest& request, const Run& run,
                                 const Progress& progress, const RunFileResolver& resolver);

// SHA-256, in hex, of the fields that must be equal in a repeated request: all except request_id,
// run and dry_run.
std::string BodyDigest(const v1::ContinueRequest& request);

}  // namespace gp::coordinator
