#include "coordinator/daemon.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/stop_signals.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/access/admin_token.h"
#include "coordinator/access/enrollment.h"
#include "coordinator/access/server_certificates.h"
#include "coordinator/announcer.h"
#include "coordinator/checkpoints/regained_checkpoints.h"
#include "coordinator/checkpoints/run_directories.h"
#include "coordinator/checkpoints/service_retention.h"
#include "coordinator/checkpoints/state_upgrade.h"
#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/control/replay.h"
#include "coordinator/notifications/notifier.h"
#include "coordinator/notifications/target_file.h"
#include "coordinator/service/access_service.h"
#include "coordinator/service/agent_service.h"
#include "coordinator/service/enrollment_service.h"
#include "coordinator/service/group_key.h"
#include "coordinator/service/input_probe.h"
#include "coordinator/service/node_service.h"
#include "coordinator/service/notifications/notification_service.h"
#include "coordinator/service/run_service.h"
#include "coordinator/service/storage/storage_service.h"
#include "coordinator/service/sweeps/sweep_service.h"
#include "coordinator/store/run_texts.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/telemetry/metrics.h"
#include "coordinator/telemetry/recorder.h"
#include "daemon/address_file.h"
#include "daemon/metrics_exposer.h"
#include "daemon/state_directory.h"
#include "daemon/state_lock.h"
#include "rpc/listen_address.h"
#include "rpc/server.h"
#include "security/server_hosts.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

// Streams do not end by themselves, so the server cancels them after this time. Other calls take
// milliseconds.
constexpr std::chrono::nanoseconds kShutdownGrace = std::chrono::milliseconds(500);
// Limit for the whole shutdown; much longer than a write to a disk that is not overloaded.
constexpr std::chrono::nanoseconds kStopMax = std::chrono::seconds(5);

// The files of a state directory.
const std::vector<std::string> kStateNames = {
    "gp.db", "coordinator.lock", "runs",    "security",
    "audit", "coordinator.sock", "backups", std::string(NotificationDatabase().name)};

Policy MakePolicy(const CoordinatorSettings& settings) {
  Policy policy;
  policy.lease = settings.lease;
  policy.start_timeout = settings.start_timeout;
  policy.finish_timeout = settings.finish_timeout;
  policy.encrypt_gradients = settings.encrypt_gradients;
  return policy;
}

ReconcilerOptions MakeReconcilerOptions(const Policy& policy, const InputProbe& probe,
                                        CoordinatorMetrics& metrics) {
  ReconcilerOptions options;
  options.policy = policy;
  options.unread = [&probe] { return probe.Unread(); };
  options.on_store_write = [&metrics](double seconds) { metrics.StoreWritten(seconds); };
  options.on_fatal = [](const Status& status) {
    LogError("the store failed; exiting so that nothing unrecorded is acknowledged",
             {{"error", gp::Message(status)}});
    std::_Exit(ProcessStatus(ExitCode::kFailure));
  };
  return options;
}

AgentServiceOptions MakeAgentOptions(const CoordinatorSettings& settings,
                                     const StorageRoot& storage, const Store& store,
                                     const GroupKey& group_key) {
  return {.group_key = group_key,
          .version = GP_VERSION,
          .storage_root = storage.path(),
          .storage_probe = storage.identity(),
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

// The addresses that the coordinator listens on. `certificates` is null if none of them needs TLS.
struct ListenConfig {
  std::vector<rpc::Endpoint> endpoints;  // the Unix socket first
  std::unique_ptr<ServerCertificates> certificates;
};

StatusOr<std::unique_ptr<ServerCertificates>> OpenCertificates(
    const CoordinatorSettings& settings) {
  std::vector<std::string> hosts = settings.advertise;
  for (const std::string& place : {settings.listen, settings.metrics_listen}) {
    if (place.empty()) continue;
    ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(place));
    const auto more = security::ServerHosts(address.host);
    hosts.insert(hosts.end(), more.begin(), more.end());
  }
  return ServerCertificates::Open({.directory = JoinPath(settings.state_dir, "security"),
                                   .hosts = std::move(hosts),
                                   .certificate = settings.tls_certificate,
                                   .key = settings.tls_key,
                                   .client_ca = settings.tls_client_ca,
                                   .lifetime = settings.tls_lifetime,
                                   .period = std::min<std::chrono::nanoseconds>(
                                       std::chrono::seconds(5), settings.tls_lifetime / 20)},
                                  SystemClock());
}

StatusOr<ListenConfig> MakeListenConfig(const CoordinatorSettings& settings) {
  const std::string socket =
      settings.socket.empty() ? JoinPath(settings.state_dir, "coordinator.sock") : settings.socket;
  ListenConfig listen_config;
  listen_config.endpoints.push_back(
      {.address = "unix:" + std::filesystem::absolute(socket).string()});
  const bool listens = !settings.listen.empty();
  const bool metrics_use_tls = daemon::MetricsUseTls(MetricsAccessOf(settings));
  if (metrics_use_tls || (listens && !settings.insecure)) {
    ASSIGN_OR_RETURN(listen_config.certificates, OpenCertificates(settings));
  }
  if (!listens) return listen_config;
  rpc::Endpoint tcp{.address = settings.listen};
  if (listen_config.certificates != nullptr) tcp.tls = listen_config.certificates->tls();
  listen_config.endpoints.push_back(std::move(tcp));
  return listen_config;
}

daemon::MetricsPlace MetricsPlaceOf(const CoordinatorSettings& settings,
                                    const ListenConfig& listen_config) {
  daemon::MetricsPlace place{.listen = settings.metrics_listen,
                             .keys_file = settings.metrics_keys_file};
  if (daemon::MetricsUseTls(MetricsAccessOf(settings))) {
    const rpc::ServerTls tls = listen_config.certificates->tls();
    place.tls = {.certificate = tls.certificate, .key = tls.key, .newest_only = true};
  }
  return place;
}

void LogPlaces(const rpc::RpcServer& server, const ListenConfig& listen_config) {
  for (const std::string& address : server.addresses()) LogInfo("listens", {{"address", address}});
  if (listen_config.certificates != nullptr || server.addresses().size() == 1) return;
  LogWarning("INSECURE: no encryption, and anyone who reaches this address may do anything",
             {{"address", server.addresses().back()}, {"because", "--insecure"}});
}

// Authentication, authorisation and the audit log. Destroyed after the services.
struct Access {
  std::unique_ptr<TokenStore> tokens;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<NodeRegistry> nodes;
  std::unique_ptr<AccessGate> gate;
  std::unique_ptr<Enrollment> enrollment;  // null if clients cannot connect over TLS
};

// For a coordinator that clients reach over TLS: creates the first admin token if there is none.
Status PrepareTokens(const std::string& security_dir, const ServerCertificates& certificates,
                     TokenStore& tokens) {
  tokens.SetCaDigest(certificates.anchor().Digest());
  ASSIGN_OR_RETURN(const std::string written, EnsureAdminToken(tokens, security_dir));
  if (!written.empty()) LogInfo("wrote the admin's token", {{"path", written}});
  return OkStatus();
}

StatusOr<Access> OpenAccess(const CoordinatorSettings& settings,
                            const ListenConfig& listen_config) {
  const std::string security_dir = JoinPath(settings.state_dir, "security");
  Access access;
  ASSIGN_OR_RETURN(access.tokens, TokenStore::Open(security_dir, SystemClock()));
  const bool others_join = listen_config.certificates != nullptr && !settings.listen.empty();
  if (others_join) {
    RETURN_IF_ERROR(PrepareTokens(security_dir, *listen_config.certificates, *access.tokens));
  }
  ASSIGN_OR_RETURN(
      access.audit,
      AuditLog::Open(JoinPath(settings.state_dir, "audit"), SystemClock(),
                     {.keep_bytes = static_cast<uint64_t>(settings.audit_keep_bytes)}));
  ASSIGN_OR_RETURN(access.nodes, NodeRegistry::Open(security_dir, SystemClock()));
  access.gate = std::make_unique<AccessGate>(
      *access.tokens, *access.audit, SystemClock(),
      AccessGateOptions{.plain_network_is_admin = settings.insecure,
                        .limits = {.calls_per_second = settings.calls_per_second,
                                   .streams = settings.streams_per_token},
                        .nodes = access.nodes.get()});
  if (others_join) {
    access.enrollment =
        std::make_unique<Enrollment>(*listen_config.certificates, *access.tokens, *access.nodes);
  }
  return access;
}

struct OpenedStorage {
  StorageRoot root;
  // While it is held, no other coordinator uses the storage root, and 'gpctl down --purge' does not
  // delete it. Absent if the file system does not support locks.
  std::optional<daemon::StateLock> lock;
};

StatusOr<std::optional<daemon::StateLock>> LockStorage(const StorageRoot& storage) {
  auto lock = daemon::StateLock::AcquireStorage(storage.path(), "another coordinator");
  if (lock.ok()) return std::optional(std::move(*lock));
  if (lock.status().code() == StatusCode::kFailedPrecondition) return lock.status();
  LogWarning("the storage root cannot be locked; a second coordinator could use it",
             {{"path", storage.path()}, {"reason", Message(lock.status())}});
  return std::nullopt;
}

// Opens and locks the storage root and records its identity in the store, which recognizes it from
// now on. With --adopt, first takes checkpoints that are gone out of the catalogue.
StatusOr<OpenedStorage> OpenStorage(const Storage& files, const CoordinatorSettings& settings,
                                    SqliteStore& store, Cluster& cluster) {
  ASSIGN_OR_RETURN(const StorageRoot storage,
                   StorageRoot::Open(files, settings.storage_root,
                                     {.identity = store.storage().identity,
                                      .checkpoints = CatalogueOf(cluster),
                                      .live_runs = cluster.live.size(),
                                      .adopt = settings.adopt_storage}));
  ASSIGN_OR_RETURN(std::optional<daemon::StateLock> lock, LockStorage(storage));
  if (settings.adopt_storage) {
    // Before KeepStorage: once the store recognizes this storage, a start without --adopt succeeds,
    // and that start would not look for missing checkpoints.
    RETURN_IF_ERROR(LoseGone(files, cluster, store, SystemClock().WallNow()));
    ASSIGN_OR_RETURN(cluster, ReplayStore(store));
  }
  RETURN_IF_ERROR(store.KeepStorage(storage.identity()));
  return OpenedStorage{storage, std::move(lock)};
}

// Null if no targets are configured.
StatusOr<std::unique_ptr<Notifier>> OpenNotifier(const CoordinatorSettings& settings,
                                                 const Reconciler& reconciler,
                                                 const Recorder& recorder,
                                                 CoordinatorMetrics& metrics) {
  if (settings.notification_targets_file.empty()) return nullptr;
  ASSIGN_OR_RETURN(NotificationTargets targets, ReadTargets(settings.notification_targets_file));
  return Notifier::Open(
      std::move(targets),
      {.state_dir = settings.state_dir,
       .snapshot = [&reconciler] { return reconciler.snapshot(); },
       .progress = [&recorder](const RunId& run) { return recorder.ProgressOf(run); },
       .series = metrics.notifications(),
       .clock = SystemClock()});
}

// Warns if the catalogue is empty but the storage has runs: gp.db was probably lost.
void WarnOfUnknownRuns(const StorageRoot& storage, const Cluster& cluster) {
  bool knows_runs = false;
  cluster.runs.ForEach([&](const RunId&, const std::shared_ptr<const Run>&) { knows_runs = true; });
  if (knows_runs || cluster.deleted.size() > 0) return;
  const auto names = ListDirectory(JoinPath(storage.path(), "runs"));
  if (!names.ok() || names->empty()) return;
  LogWarning(
      "the storage holds runs, but this catalogue is empty; if its gp.db was lost, restore "
      "it from a backup",
      {{"storage", storage.path()}, {"runs", names->size()}});
}

// Ends the process although a thread is still blocked, for example in a hung file system. This
// loses nothing that was acknowledged: all of it is durable.
[[noreturn]] void EndWithWorkInProgress() {
  LogWarning("work is still blocked, probably by a hung file system; exiting without it");
  std::_Exit(EXIT_SUCCESS);
}

// Ends the process if it has not exited `kStopMax` after Begin. Destroyed last, so that the limit
// also covers the destructors that join threads.
class StopDeadline {
 public:
  ~StopDeadline() {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }

  void Begin() {
    thread_ = std::jthread([this] {
      const auto deadline = std::chrono::steady_clock::now() + kStopMax;
      MutexLock lock(mutex_);
      while (!stopped_) {
        if (!changed_.WaitUntil(mutex_, deadline)) EndWithWorkInProgress();
      }
    });
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // joined before the objects it uses are destroyed
};

}  // namespace

Status RunCoordinator(const CoordinatorSettings& settings, const daemon::Runtime& runtime) {
  StopDeadline stop_deadline;
  RETURN_IF_ERROR(daemon::PrepareStateDirectory(settings.state_dir, kStateNames));
  ASSIGN_OR_RETURN(auto lock, LockState(settings.state_dir));
  ASSIGN_OR_RETURN(const std::string backup,
                   BackUpOlderState(settings.state_dir, lock, SystemClock()));
  ASSIGN_OR_RETURN(const auto store,
                   SqliteStore::Open(
                       settings.state_dir, std::move(lock),
                       {.backup = backup, .storage_root = StorageRootPath(settings.storage_root)}));
  // Opened after the store: the store's lock keeps two coordinators from creating the key at once.
  ASSIGN_OR_RETURN(const GroupKey group_key,
                   GroupKey::Open(JoinPath(settings.state_dir, "security/group.key")));
  ASSIGN_OR_RETURN(const ListenConfig listen_config, MakeListenConfig(settings));
  ASSIGN_OR_RETURN(const Access access, OpenAccess(settings, listen_config));
  ASSIGN_OR_RETURN(Cluster cluster, ReplayStore(*store));
  const LocalStorage files(LocalStorage::Links::kRefused);
  ASSIGN_OR_RETURN(const OpenedStorage opened, OpenStorage(files, settings, *store, cluster));
  const StorageRoot& storage = opened.root;
  WarnOfUnknownRuns(storage, cluster);

  const Policy policy = MakePolicy(settings);
  CoordinatorMetrics metrics(GP_VERSION, SystemClock(), policy);
  RETURN_IF_ERROR(metrics.Started(cluster, *store));
  ASSIGN_OR_RETURN(
      const auto exposer,
      daemon::MetricsExposer::Start(MetricsPlaceOf(settings, listen_config), metrics.page()));
  ChangeHub hub(SystemClock());
  RunDirectories directories(files, [&store](std::shared_ptr<const Run> run) {
    return WithTexts(*store, std::move(run));
  });
  directories.SweepAll(cluster);
  CheckpointVerifier verifier(files);
  Announcer announcer(hub, metrics, directories, verifier);
  Recorder recorder(JoinPath(settings.state_dir, "runs"), {.limits = MakeLimits(settings)},
                    announcer);
  announcer.ForgetIn(recorder);
  recorder.ForgetDeleted(cluster);
  for (const auto& [sequence, run] : cluster.live) metrics.Recorded(run, recorder.ProgressOf(run));
  InputProbe probe(SystemClock());
  const size_t live = cluster.live.size();
  const ReconcilerOptions reconciler_options = MakeReconcilerOptions(policy, probe, metrics);
  Reconciler reconciler(*store, SystemClock(), announcer, std::move(cluster), reconciler_options);

  ASSIGN_OR_RETURN(const auto notifier, OpenNotifier(settings, reconciler, recorder, metrics));
  WorkLanes lanes;
  const SpecResolver resolver([&notifier](const std::string& run_namespace) {
    return notifier == nullptr ? std::vector<std::string>() : notifier->TargetsFor(run_namespace);
  });
  const bool insecure = settings.insecure && !settings.listen.empty();
  const ServiceContext services{*access.gate, lanes, hub};
  const RunQuotaOptions quota{.runs = settings.runs_per_user,
                              .waiting = settings.waiting_runs_per_user};
  RunService run_service(
      services, {reconciler, recorder, *store}, verifier, resolver, storage, SystemClock(),
      {.version = GP_VERSION, .policy = policy, .insecure = insecure, .quota = quota});
  AccessService access_service(services, *access.tokens, *access.audit, SystemClock());
  EnrollmentService enrollment_service(services, access.enrollment.get(), *access.nodes,
                                       reconciler);
  NodeService node_service(services, reconciler);
  NotificationService notification_service(services, notifier.get());
  SweepService sweep_service(services, reconciler, recorder, {resolver, storage, *store}, quota);
  ServiceRetention retention(reconciler, *access.audit, files, SystemClock(),
                             {.policy = {.age = settings.ended_runs_age,
                                         .count = settings.ended_runs_count,
                                         .disk_watermark = settings.disk_watermark},
                              .storage_root = storage.path()});
  StorageService storage_service(services, reconciler, recorder, files, storage);
  AgentServiceContext agents{*access.gate, reconciler, recorder, hub,
                             MakeAgentOptions(settings, storage, *store, group_key)};
  AgentService agent_service(agents);
  ASSIGN_OR_RETURN(
      const auto server,
      rpc::RpcServer::Start(
          {.endpoints = listen_config.endpoints,
           .on_call_ended = [&metrics](const rpc::EndedCall& call) { metrics.CallEnded(call); },
           .describe =
               [insecure] {
                 return rpc::AnswerHeader{SystemClock().WallNow(), insecure};
               }},
          {&run_service, &access_service, &enrollment_service, &node_service, &storage_service,
           &notification_service, &sweep_service, &agent_service}));
  // Before the coordinator starts its own threads, so that an error here leaves none running.
  RETURN_IF_ERROR(daemon::WriteAddressFile(
      runtime.address_file, {.address = server->address(),
                             .metrics = exposer->address(),
                             .listen = settings.listen.empty() ? "" : server->addresses().back()}));
  if (listen_config.certificates != nullptr) listen_config.certificates->Start();
  hub.Start();
  probe.Start(server->ChannelToItself());
  verifier.Start(reconciler);
  reconciler.Start();
  retention.Start();
  if (notifier != nullptr) notifier->Start();
  LogInfo("coordinator serves", {{"address", server->address()},
                                 {"metrics", exposer->address()},
                                 {"state_dir", settings.state_dir},
                                 {"storage_root", storage.path()},
                                 {"generation", store->generation()},
                                 {"live_runs", live},
                                 {"version", GP_VERSION}});
  LogPlaces(*server, listen_config);
  LogInfo("coordinator stops", {{"signal", AwaitStopSignal()}});
  stop_deadline.Begin();
  probe.Stop();
  retention.Stop();
  if (notifier != nullptr) notifier->Stop();  // before the server: a call may wait for a test
  verifier.Stop();  // before the server, because a call may be waiting for its result
  server->Shutdown(kShutdownGrace);
  const bool finished = lanes.Stop(kShutdownGrace);
  reconciler.Stop();
  recorder.Stop();
  directories.Stop();
  hub.Stop();
  if (!finished) EndWithWorkInProgress();
  return OkStatus();
}

}  // namespace gp::coordinator
