// The local service as commands see it: bring one up in the background, find the one that runs,
// take it down. Functions over one state directory; used by gpctl's main thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/status.h"
#include "client/api/interruption.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/service/supervisor.h"

namespace gp::gpctl {

// The record of the service that is supervised in `directory` now; waits while it is still
// starting. NotFound when none is.
StatusOr<ServiceRecord> FindRunningService(const ServiceDirectory& directory,
                                           client::Interruption& interruption);

// Whether a service is supervised in `directory`, or its coordinator still runs. PermissionDenied
// when it is another user's.
StatusOr<bool> ServiceRuns(const ServiceDirectory& directory);

// Leaves a supervisor process of gpctl itself in the background, with its daemons. AlreadyExists
// when one runs there.
StatusOr<ServiceRecord> StartInBackground(const ServiceDirectory& directory,
                                          const SupervisorOptions& options,
                                          client::Interruption& interruption);

// What StopService found running; 0: did not run.
struct StoppedService {
  int coordinator_pid = 0;
  int worker_pid = 0;
  int gateway_pid = 0;
};

// What runs saves its last step before it ends, or not.
enum class StopWay { kSave, kAtOnce };

// Stops the supervisor and whatever it left, by recorded identity. OK when nothing runs.
// PermissionDenied when it is another user's.
StatusOr<StoppedService> StopService(const ServiceDirectory& directory,
                                     StopWay way = StopWay::kSave);

}  // namespace gp::gpctl
