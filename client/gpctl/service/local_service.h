// Functions for commands to start a local service in the background, find a running one, and stop
// it. Functions over one state directory; used by gpctl's main thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/api/interruption.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/service/supervisor.h"

namespace gp::gpctl {

// The record of the service that is supervised in `directory` now; waits while it is still
// starting. NotFound when there is none.
StatusOr<ServiceRecord> FindRunningService(const ServiceDirectory& directory,
                                           client::Interruption& interruption);

// Whether a service is supervised in `directory`, also from another container, or its coordinator
// still runs. PermissionDenied when it is another user's; Unavailable, with where it runs, when
// that is another host, from which nothing here reaches its socket.
StatusOr<bool> ServiceRuns(const ServiceDirectory& directory);

// The lock that a supervisor holds. AlreadyExists when another one of this machine was faster,
// which FindRunningService then finds; FailedPrecondition when it runs elsewhere.
StatusOr<daemon::StateLock> LockToSupervise(const ServiceDirectory& directory);

// Starts a gpctl process in the background that supervises the daemons. AlreadyExists as above.
StatusOr<ServiceRecord> StartInBackground(const ServiceDirectory& directory,
                                          const SupervisorOptions& options,
                                          client::Interruption& interruption);

// The processes that StopService found; 0: did not run. While `locks` live nothing else uses the
// directory.
struct StoppedService {
  int coordinator_pid = 0;
  int worker_pid = 0;
  int gateway_pid = 0;
  int monitoring_pid = 0;
  std::vector<daemon::StateLock> locks;
};

// Whether running trainers save their last step before they end.
enum class StopWay { kSave, kAtOnce };

// Stops the supervisor and any daemon that is left, by their recorded identity. OK when nothing
// runs. PermissionDenied when it is another user's. Internal, with the holder of the lock, when a
// process that cannot be seen from here uses the directory; its record is not touched.
StatusOr<StoppedService> StopService(const ServiceDirectory& directory,
                                     StopWay way = StopWay::kSave);

}  // namespace gp::gpctl
