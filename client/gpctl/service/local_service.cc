#include "client/gpctl/service/local_service.h"

#include <thread>

namespace gp::gpctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStartPoll{50};
// How long to wait until the kernel releases the locks of processes that have ended.
constexpr std::chrono::seconds kReleaseMax{2};

std::vector<std::string> SupervisorArguments(const ServiceDirectory& directory,
                                             const SupervisorOptions& options) {
  std::vector<std::string> arguments = {"up", "--state-dir", directory.root()};
  const auto add = [&arguments](const std::string& flag, const std::string& value) {
    arguments.push_back(flag);
    arguments.push_back(value);
  };
  if (options.workers > 0) add("--workers", fmt::format("{}", options.workers));
  if (!options.listen.empty()) add("--listen", options.listen);
  if (!options.storage_root.empty()) add("--storage-root", options.storage_root);
  if (options.adopt) arguments.push_back("--adopt");
  if (options.insecure) arguments.push_back("--insecure");
  if (options.port_base > 0) add("--port-base", fmt::format("{}", options.port_base));
  if (!options.trainer.empty()) add("--trainer", options.trainer);
  if (!options.gpu_trainer.empty()) add("--gpu-trainer", options.gpu_trainer);
  if (!options.gpus.empty()) add("--gpus", options.gpus);
  for (const std::string& root : options.data_roots) add("--data-root", root);
  if (!options.gateway_listen.empty()) add("--gateway-listen", options.gateway_listen);
  if (!options.gateway) arguments.push_back("--no-gateway");
  if (options.monitoring) arguments.push_back("--monitoring");
  return arguments;
}

// The supervisor's log from byte `from` on, without its "error: ", which gpctl prints itself.
std::string LastWordsSince(const std::string& path, size_t from) {
  const auto text = ReadFile(path);
  std::string words = text.ok() && text->size() > from ? text->substr(from) : "";
  const size_t error = words.find("error: ");
  if (error != std::string::npos) words.erase(0, error + 7);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.empty() ? "the supervisor ended without a message" : words;
}

int RunningPid(const ProcessIdentity& process) { return IsAlive(process) ? process.pid : 0; }

// Whether a process on this machine and in this container holds the supervisor's lock. A supervisor
// that is starting holds it before it has written its record.
bool IsHeldHere(const ServiceDirectory& directory) {
  const auto holder = directory.Holder();
  return holder && !holder->IsElsewhere(daemon::LockHolder::Self(SystemClock()));
}

// Takes all locks of a service that was just stopped. Fails if a lock is still held: by a process
// in another container or on another host, which cannot be seen here.
StatusOr<std::vector<daemon::StateLock>> LockStopped(const ServiceDirectory& directory) {
  const auto deadline = steady_clock::now() + kReleaseMax;
  while (true) {
    auto locks = directory.LockAll();
    if (locks.status().code() != StatusCode::kFailedPrecondition) return locks;
    if (steady_clock::now() >= deadline) return Internal("{}", Message(locks.status()));
    std::this_thread::sleep_for(kStartPoll);
  }
}

Status StopDaemons(const ServiceDirectory& directory, StopWay way) {
  const auto grace = SupervisorOptions().stop_grace;
  const auto hurried = [way] { return way == StopWay::kAtOnce; };
  ASSIGN_OR_RETURN(const ServiceRecord left, directory.Load());
  RETURN_IF_ERROR(StopProcesses({left.monitoring, left.gateway, left.worker}, grace, hurried));
  return StopProcess(left.coordinator, grace);
}

}  // namespace

StatusOr<ServiceRecord> FindRunningService(const ServiceDirectory& directory,
                                           client::Interruption& interruption) {
  const auto deadline = steady_clock::now() + SupervisorOptions().start_timeout;
  while (true) {
    const auto record = directory.Load();
    const bool supervised = record.ok() && IsAlive(record->supervisor);
    if (supervised && record->ready) return record;
    if (!record.ok() && record.status().code() != StatusCode::kNotFound) return record.status();
    if (!supervised && !IsHeldHere(directory)) {
      return NotFound("no service runs in {}", directory.root());
    }
    if (steady_clock::now() >= deadline) {
      return DeadlineExceeded(
          "the service in {} is starting but does not become ready; its logs: {}", directory.root(),
          directory.Path("logs"));
    }
    if (interruption.WaitFor(kStartPoll)) return Cancelled("interrupted");
  }
}

StatusOr<bool> ServiceRuns(const ServiceDirectory& directory) {
  const auto record = directory.Load();
  if (record.status().code() == StatusCode::kNotFound) return false;
  RETURN_IF_ERROR(record.status());
  if (IsAlive(record->supervisor) || IsAlive(record->coordinator)) return true;
  const auto holder = directory.Holder();
  if (!holder) return false;
  const auto self = daemon::LockHolder::Self(SystemClock());
  if (!holder->IsOnAnotherHost(self)) return true;
  return Unavailable(
      "the service in {} belongs to {}, and its socket cannot be reached from here; run gpctl "
      "there, "
      "or log "
      "in to what it serves with --listen: 'gpctl login HOST:PORT'",
      directory.root(), holder->Description(self));
}

StatusOr<daemon::StateLock> LockToSupervise(const ServiceDirectory& directory) {
  auto lock = directory.Lock();
  const bool taken = lock.status().code() == StatusCode::kFailedPrecondition;
  if (taken && IsHeldHere(directory)) return AlreadyExists("{}", Message(lock.status()));
  return lock;
}

StatusOr<ServiceRecord> StartInBackground(const ServiceDirectory& directory,
                                          const SupervisorOptions& options,
                                          client::Interruption& interruption) {
  const std::string log = directory.Log("supervisor");
  const size_t log_size = FileSize(log).value_or(0);
  ASSIGN_OR_RETURN(const ProcessIdentity supervisor,
                   SpawnDetached({.program = JoinPath(options.program_directory, "gpctl"),
                                  .arguments = SupervisorArguments(directory, options),
                                  .log_path = log}));
  // The supervisor limits its own start; this limit is for a supervisor that hangs.
  const auto deadline = steady_clock::now() + 4 * options.start_timeout;
  while (steady_clock::now() < deadline) {
    const auto record = directory.Load();
    if (record.ok() && record->supervisor.pid == supervisor.pid && record->ready) return record;
    ReapChildren();
    if (!IsAlive(supervisor)) {
      const std::string words = LastWordsSince(log, log_size);
      if (IsHeldHere(directory)) return AlreadyExists("{}", words);
      return Internal("{}", words);
    }
    if (interruption.WaitFor(kStartPoll)) {
      RETURN_IF_ERROR(StopProcess(supervisor, options.start_timeout));
      return Cancelled("interrupted; nothing was left running");
    }
  }
  return DeadlineExceeded("the supervisor (pid {}) does not become ready; its log: {}",
                          supervisor.pid, log);
}

StatusOr<StoppedService> StopService(const ServiceDirectory& directory, StopWay way) {
  StoppedService stopped;
  const auto record = directory.Load();
  if (record.status().code() == StatusCode::kNotFound && !directory.IsOurs()) return stopped;
  if (record.status().code() == StatusCode::kNotFound) {
    ASSIGN_OR_RETURN(stopped.locks, LockStopped(directory));
    return stopped;
  }
  RETURN_IF_ERROR(record.status());
  stopped.coordinator_pid = RunningPid(record->coordinator);
  stopped.worker_pid = RunningPid(record->worker);
  stopped.gateway_pid = RunningPid(record->gateway);
  stopped.monitoring_pid = RunningPid(record->monitoring);
  RETURN_IF_ERROR(StopProcess(record->supervisor, 3 * SupervisorOptions().stop_grace,
                              [way] { return way == StopWay::kAtOnce; }));
  // Stop daemons that the supervisor has left because it was killed.
  RETURN_IF_ERROR(StopDaemons(directory, way));
  ASSIGN_OR_RETURN(stopped.locks, LockStopped(directory));
  ASSIGN_OR_RETURN(ServiceRecord left, directory.Load());
  left.supervisor = left.coordinator = left.worker = left.gateway = left.monitoring = {};
  left.ready = false;
  RETURN_IF_ERROR(directory.Save(left));
  return stopped;
}

}  // namespace gp::gpctl
