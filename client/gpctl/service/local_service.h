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

// The record of the service supervised in `directory`; waits while it is still starting, at most
// SupervisorOptions::start_timeout (DeadlineExceeded). NotFound when there is none.
StatusOr<ServiceRecord> FindRunningService(const ServiceDirectory& directory,
                                           client::Interruption& interruption);

// Whether a service is supervised in `directory`, even from another container, or its coordinator
// still runs; false if none was ever started there. PermissionDenied if it is another user's;
// Unavailable, with its location, if it runs on another host, whose socket cannot be reached from
// here.
StatusOr<bool> ServiceRuns(const ServiceDirectory& directory);

// Takes the supervisor's lock. AlreadyExists if another supervisor on this machine holds it: use
// FindRunningService. FailedPrecondition if that supervisor runs elsewhere.
StatusOr<daemon::StateLock> LockToSupervise(const ServiceDirectory& directory);

// Starts a gpctl process in the background that supervises the daemons, and returns when the
// service is ready. AlreadyExists as above; Internal, with what it wrote to its log, if it ended;
// Cancelled when interrupted, after it was stopped.
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

// Stops the supervisor and any remaining daemon, by their recorded identity. OK when nothing runs.
// PermissionDenied if it is another user's. Internal, with the holder of the lock, if a process
// that cannot be seen from here uses the directory; its record is not touched.
StatusOr<StoppedService> StopService(const ServiceDirectory& directory,
                                     StopWay way = StopWay::kSave);

}  // namespace gp::gpctl
