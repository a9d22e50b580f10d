#include "coordinator/daemon.h"

#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "coordinator/announcer.h"
#include "coordinator/metrics.h"
#include "coordinator/reconciler.h"
#include "coordinator/recorder.h"
#include "coordinator/replay.h"
#include "coordinator/run_directories.h"
#include "coordinator/service/agent_service.h"
#include "coordinator/service/run_service.h"
#include "coordinator/storage_root.h"
#include "coordinator/store/sqlite_store.h"
#include "rpc/listen_address.h"
#include "rpc/server.h"

namespace gp::coordinator {
namespace {

// Streams never end by themselves; what is in flight otherwise takes milliseconds.
constexpr std::chrono::nanoseconds kShutdownGrace = std::chrono::milliseconds(500);

StatusOr<std::unique_ptr<prometheus::Exposer>> Expose(const std::string& listen,
                                                      const CoordinatorMetrics& metrics) {
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(listen));
  RETURN_IF_ERROR(WithContext(rpc::CheckBindable(address), "--metrics-listen"));
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(address.Text(), 1);
    exposer->RegisterCollectable(metrics.registry());
    return exposer;
  } catch (const std::exception& error) {
    return FailedPrecondition("--metrics-listen {}: {}", listen, error.what());
  }
}

Status WriteAddressFile(const std::string& path, const std::string& address,
                        const std::string& metrics) {
  if (path.empty()) return OkStatus();
  const nlohmann::json content = {{"address", address}, {"metrics", metrics}, {"pid", getpid()}};
  return WithContext(WriteFileAtomically(path, content.dump() + "\n"), "--address-file");
}

// Blocks SIGTERM and SIGINT in every thread that is started later.
sigset_t BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

ReconcilerOptions MakeReconcilerOptions(const CoordinatorSettings& settings,
                                        CoordinatorMetrics& metrics) {
  ReconcilerOptions options;
  options.policy.lease = settings.lease;
  options.policy.start_timeout = settings.start_timeout;
  options.policy.finish_timeout = settings.finish_timeout;
  options.on_store_write = [&metrics](double seconds) { metrics.StoreWritten(seconds); };
  options.on_fatal = [](const Status& status) {
    LogError("the store failed; ending so that nothing unrecorded is acknowledged",
             {{"error", gp::Message(status)}});
    std::_Exit(ProcessStatus(ExitCode::kFailure));
  };
  return options;
}

AgentServiceOptions MakeAgentOptions(const CoordinatorSettings& settings,
                                     const StorageRoot& storage, const Store& store) {
  return {.version = GP_VERSION,
          .storage_root = storage.path(),
          .storage_probe = storage.probe(),
          .generation = store.generation(),
          .report_interval = settings.report_interval,
          .lease = settings.lease};
}

RunLogLimits MakeLimits(const CoordinatorSettings& settings) {
  RunLogLimits limits;
  limits.points_bytes_max = static_cast<uint64_t>(settings.points_bytes_max);
  limits.lines_bytes_max = static_cast<uint64_t>(settings.lines_bytes_max);
  return limits;
}

std::string MetricsAddress(const CoordinatorSettings& settings,
                           const prometheus::Exposer& exposer) {
  auto address = rpc::ParseListenAddress(settings.metrics_listen)->Reachable();
  address.port = exposer.GetListeningPorts().front();
  return address.Text();
}

}  // namespace

Status RunCoordinator(const CoordinatorSettings& settings, const daemon::Runtime& runtime) {
  const sigset_t signals = BlockSignals();
  ASSIGN_OR_RETURN(const auto store, SqliteStore::Open(settings.state_dir));
  ASSIGN_OR_RETURN(const StorageRoot storage, StorageRoot::Open(settings.storage_root));
  ASSIGN_OR_RETURN(Cluster cluster, ReplayStore(*store));

  CoordinatorMetrics metrics(GP_VERSION, "");
  metrics.Started(cluster);
  ASSIGN_OR_RETURN(const auto exposer, Expose(settings.metrics_listen, metrics));
  ChangeHub hub(SystemClock());
  RunDirectories directories;
  directories.SweepAll(cluster);
  Announcer announcer(hub, metrics, directories);
  Recorder recorder(JoinPath(settings.state_dir, "runs"), MakeLimits(settings), announcer);
  const size_t live = cluster.live.size();
  const ReconcilerOptions reconciler_options = MakeReconcilerOptions(settings, metrics);
  Reconciler reconciler(*store, SystemClock(), announcer, std::move(cluster), reconciler_options);

  const SpecResolver resolver;
  RunService run_service({reconciler, recorder, *store}, hub, resolver, storage, SystemClock(),
                         {GP_VERSION, "", reconciler_options.policy});
  AgentServiceContext agents{reconciler, recorder, hub,
                             MakeAgentOptions(settings, storage, *store)};
  AgentService agent_service(agents);
  ASSIGN_OR_RETURN(const auto server, rpc::RpcServer::Start({.listen = settings.listen},
                                                            {&run_service, &agent_service}));
  hub.Start();
  reconciler.Start();
  const std::string metrics_address = MetricsAddress(settings, *exposer);
  RETURN_IF_ERROR(WriteAddressFile(runtime.address_file, server->address(), metrics_address));
  LogInfo("coordinator serves", {{"address", server->address()},
                                 {"metrics", metrics_address},
                                 {"state_dir", settings.state_dir},
                                 {"storage_root", storage.path()},
                                 {"generation", store->generation()},
                                 {"live_runs", live},
                                 {"version", GP_VERSION}});
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  LogInfo("coordinator stops", {{"signal", signal_number}});
  server->Shutdown(kShutdownGrace);
  reconciler.Stop();
  recorder.Stop();
  directories.Stop();
  hub.Stop();
  return OkStatus();
}

}  // namespace gp::coordinator
