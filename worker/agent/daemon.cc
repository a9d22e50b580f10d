#include "worker/agent/daemon.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/usable_cores.h"
#include "base/random_id.h"
#include "base/stop_signals.h"
#include "contract/agent_protocol.h"
#include "daemon/address_file.h"
#include "daemon/engine_environment.h"
#include "daemon/metrics_exposer.h"
#include "daemon/state_directory.h"
#include "daemon/state_lock.h"
#include "rpc/grpc_log.h"
#include "rpc/listen_address.h"
#include "rpc/local_host.h"
#include "worker/agent/agent.h"
#include "worker/agent/coordinator_client.h"
#include "worker/agent/gpu_watch.h"
#include "worker/agent/node_credentials.h"
#include "worker/agent/node_gpus.h"
#include "worker/agent/node_identity.h"
#include "worker/agent/trainer_groups.h"

namespace gp::agent {
namespace {

constexpr std::chrono::seconds kFlushTimeout{2};

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "node";
}

// The directory of gp-worker, and by default of the trainers.
StatusOr<std::string> ProgramDirectory() {
  std::array<char, 4096> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) < 0) {
    return ErrnoStatus(errno, "read", "/proc/self/exe");
  }
  return DirectoryOf(path.data());
}

StatusOr<NodeCores> FindCores() {
  ASSIGN_OR_RETURN(auto cores, UsableCores());
  const int count = CoresWithinLimit(static_cast<int>(cores.size()));
  return ChooseCores(std::move(cores), count);
}

StatusOr<NodeGpus> FindGpus(const WorkerSettings& settings, const std::vector<int>& cores) {
  ASSIGN_OR_RETURN(const std::string directory, ProgramDirectory());
  return FindGpus(settings, std::getenv("CUDA_VISIBLE_DEVICES"), directory, cores);
}

SlotTable MakeSlots(int count, const std::vector<int>& cores, const NodeGpus& gpus) {
  const int cpu_count = count > 0 ? count : static_cast<int>(cores.size());
  auto slots = CutCpuSlots(cpu_count, cores, MemoryBytes());
  slots.insert(slots.end(), gpus.slots.begin(), gpus.slots.end());
  return SlotTable(std::move(slots));
}

void LogGpus(const NodeGpus& gpus) {
  if (!gpus.problem.empty()) LogWarning("GPUs cannot be used", {{"reason", gpus.problem}});
  for (const SlotInfo& slot : gpus.slots) {
    LogInfo("GPU found", {{"slot", slot.id}, {"name", slot.device_name}, {"uuid", slot.device}});
    if (slot.health.problem.empty()) continue;
    LogWarning("slot is not used", {{"slot", slot.id}, {"reason", slot.health.problem}});
  }
}

// The host on which trainers listen for their peers.
StatusOr<std::string> DataAddress(const WorkerSettings& settings) {
  if (!settings.data_address.empty()) return settings.data_address;
  ASSIGN_OR_RETURN(const auto coordinator, rpc::ParseListenAddress(settings.coordinator));
  if (coordinator.is_socket()) return std::string("127.0.0.1");
  const auto host = rpc::LocalHostToward(coordinator.host);
  if (host.ok()) return host;
  return WithContext(host.status(), "node.data_address is empty and cannot be determined");
}

// The absolute, normalised path: the coordinator compares it with its own as text.
std::string StorageRoot(const WorkerSettings& settings) {
  return AbsolutePath(settings.storage_root, std::filesystem::current_path().string());
}

v1::AgentHello MakeHello(const WorkerSettings& settings, const std::string& node_id,
                         const std::string& data_address, const SlotTable& slots,
                         const NodeGpus& gpus) {
  v1::AgentHello hello;
  hello.set_protocol(contract::kAgentProtocol);
  hello.set_protocol_min(contract::kAgentProtocolMin);
  hello.set_version(GP_VERSION);
  hello.set_node_id(node_id);
  hello.set_name(settings.node_name.empty() ? HostName() : settings.node_name);
  hello.set_incarnation(RandomId(10));
  hello.set_data_address(data_address);
  hello.set_storage_root(StorageRoot(settings));
  hello.set_gpu_driver(gpus.driver);
  hello.set_gpu_problem(gpus.problem);
  hello.mutable_data_roots()->mutable_paths()->Assign(settings.data_roots.begin(),
                                                      settings.data_roots.end());
  for (const SlotInfo& info : slots.all()) {
    v1::Slot& slot = *hello.add_slots();
    slot.set_slot_id(info.id);
    slot.set_device(info.device);
    slot.set_memory_bytes(info.memory_bytes);
    for (const int core : info.cores) slot.add_cores(core);
    slot.set_device_name(info.device_name);
    slot.set_compute_capability(info.compute_capability);
    slot.set_problem(info.health.problem);
  }
  return hello;
}

// The account that trainers run as; absent if trainer.user is empty.
StatusOr<std::optional<daemon::Account>> AccountOf(const std::string& user) {
  if (user.empty()) return std::optional<daemon::Account>();
  if (geteuid() != 0) {
    return FailedPrecondition(
        "trainer.user: only root can start programs as '{}', and gp-worker runs as user {}; leave "
        "trainer.user out, or start gp-worker as root",
        user, geteuid());
  }
  const auto account = daemon::FindAccount(user);
  if (!account.ok()) return WithContext(account.status(), "trainer.user");
  return std::optional(*account);
}

void ReplaceVariable(const std::string& name, const std::string& value,
                     std::vector<std::string>& environment) {
  std::erase_if(environment,
                [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

StatusOr<AgentOptions> MakeAgentOptions(const WorkerSettings& settings) {
  AgentOptions options;
  options.trainer_program = settings.trainer_program;
  if (options.trainer_program.empty()) {
    ASSIGN_OR_RETURN(const std::string directory, ProgramDirectory());
    options.trainer_program = JoinPath(directory, "gp-trainer");
  }
  options.trainer_environment = daemon::EngineEnvironment(settings.trainer_environment);
  ASSIGN_OR_RETURN(options.account, AccountOf(settings.trainer_user));
  if (options.account) {
    ReplaceVariable("HOME", options.account->home, options.trainer_environment);
    ReplaceVariable("USER", settings.trainer_user, options.trainer_environment);
  }
  options.gpu_environment = GpuEnvironment(environ, settings);
  const auto coordinator = rpc::ParseListenAddress(settings.coordinator);
  options.files = {.storage_root = StorageRoot(settings),
                   .data_roots = settings.data_roots,
                   .owners_coordinator = coordinator.ok() && coordinator->is_socket()};
  options.version = GP_VERSION;
  options.reconcile.storage_root = StorageRoot(settings);
  options.reconcile.start_timeout = settings.start_timeout;
  options.reconcile.save_grace = settings.stop_grace;
  return options;
}

// Null where the agent may not make control groups; an error when the settings need them.
StatusOr<std::unique_ptr<TrainerGroups>> OpenGroups(const WorkerSettings& settings) {
  auto groups =
      TrainerGroups::Open({.memory_bytes = static_cast<uint64_t>(settings.trainer_memory_max)});
  if (groups.ok()) return groups;
  if (settings.trainer_memory_max > 0) return WithContext(groups.status(), "trainer.memory_max");
  LogInfo("trainers run without control groups", {{"reason", Message(groups.status())}});
  return nullptr;
}

// Null for a coordinator on a Unix socket, which recognises this user, and with --insecure.
StatusOr<std::unique_ptr<NodeCredentials>> OpenCredentials(const WorkerSettings& settings,
                                                           const std::string& node_id,
                                                           const std::atomic<bool>& stopping) {
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(settings.coordinator));
  if (address.is_socket()) return nullptr;
  if (settings.insecure) {
    LogWarning("INSECURE: the connection to the coordinator is neither encrypted nor authenticated",
               {{"coordinator", settings.coordinator}, {"because", "--insecure"}});
    return nullptr;
  }
  return NodeCredentials::Open({.coordinator = settings.coordinator,
                                .state_dir = settings.state_dir,
                                .node_id = node_id,
                                .join_token_file = settings.join_token_file,
                                .ca = settings.coordinator_ca},
                               SystemClock(), [&stopping] { return stopping.load(); });
}

// `credentials` may be absent.
daemon::MetricsPlace MetricsPlaceOf(const WorkerSettings& settings,
                                    const NodeCredentials* credentials) {
  daemon::MetricsPlace place{.listen = settings.metrics_listen,
                             .keys_file = settings.metrics_keys_file};
  if (!daemon::MetricsUseTls(MetricsAccessOf(settings))) return place;
  const bool own = settings.tls_certificate.empty();
  GP_CHECK(!own || credentials != nullptr,
           "the metrics need the certificate of the node, which has none");
  const rpc::ChannelTls node = own ? credentials->tls() : rpc::ChannelTls{};
  place.tls = {.certificate = own ? node.certificate : settings.tls_certificate,
               .key = own ? node.key : settings.tls_key,
               .newest_only = true};
  return place;
}

}  // namespace

StatusOr<std::string> DescribeGpus(const WorkerSettings& settings) {
  ASSIGN_OR_RETURN(const NodeCores node, FindCores());
  ASSIGN_OR_RETURN(const NodeGpus gpus, FindGpus(settings, node.cores));
  return GpusJson(gpus);
}

Status RunWorker(const WorkerSettings& settings, const daemon::Runtime& runtime) {
  rpc::InstallGrpcLog();
  Inbox inbox;
  std::atomic<bool> stopping = false;
  // SIGINT is `hurried`, because it comes from a person at the terminal, or from gpctl on a
  // person's behalf: a second one kills the trainers.
  const StopSignals signals([&](const std::string& name) {
    stopping = true;
    inbox.Post(StopRequested{.hurried = name == "SIGINT"});
  });
  RETURN_IF_ERROR(daemon::PrepareStateDirectory(settings.state_dir,
                                                {"lock", "node_id", "security", "format.json"}));
  ASSIGN_OR_RETURN(
      const auto lock,
      daemon::StateLock::Acquire(settings.state_dir, daemon::kAgentLockName, "another gp-worker"));
  RETURN_IF_ERROR(MigrateAgentState(settings.state_dir));
  ASSIGN_OR_RETURN(const std::string node_id, LoadNodeId(settings.state_dir));
  const auto credentials = OpenCredentials(settings, node_id, stopping);
  if (stopping) return OkStatus();
  RETURN_IF_ERROR(credentials.status());
  ASSIGN_OR_RETURN(const NodeCores node, FindCores());
  ASSIGN_OR_RETURN(const NodeGpus gpus, FindGpus(settings, node.cores));
  const SlotTable slots = MakeSlots(settings.slots, node.cores, gpus);
  ASSIGN_OR_RETURN(AgentOptions agent_options, MakeAgentOptions(settings));
  agent_options.gpu_trainer_program = gpus.trainer_program;
  agent_options.pin_trainers = node.pinned;
  ASSIGN_OR_RETURN(agent_options.data_address, DataAddress(settings));
  const std::string data_address = agent_options.data_address;
  LogGpus(gpus);

  AgentMetrics metrics(GP_VERSION);
  metrics.SetSlots(slots.Count({}));
  ASSIGN_OR_RETURN(
      const auto exposer,
      daemon::MetricsExposer::Start(MetricsPlaceOf(settings, credentials->get()), metrics.page()));
  ASSIGN_OR_RETURN(const auto groups, OpenGroups(settings));
  agent_options.groups = groups.get();
  agent_options.on_registered = [&] {
    const Status status =
        daemon::WriteAddressFile(runtime.address_file, {settings.coordinator, exposer->address()});
    if (!status.ok()) LogError("cannot write the address file", {{"error", Message(status)}});
  };

  CoordinatorClientOptions client_options;
  client_options.address = settings.coordinator;
  if (*credentials != nullptr) client_options.tls = (*credentials)->tls();
  client_options.backoff.max = settings.reconnect_max;
  client_options.telemetry_items_max = static_cast<size_t>(settings.telemetry_items_max);
  client_options.hello = MakeHello(settings, node_id, data_address, slots, gpus);
  CoordinatorClient client(std::move(client_options), inbox, metrics);
  Agent agent(std::move(agent_options), slots, SystemClock(), inbox, client, metrics);
  LogInfo("worker started", {{"node", node_id},
                             {"slots", slots.Names()},
                             {"coordinator", settings.coordinator},
                             {"data_address", data_address},
                             {"version", GP_VERSION}});
  std::optional<GpuWatch> gpu_watch;
  if (gpus.inventory) {
    gpu_watch.emplace(*gpus.inventory, gpus.slots, gpus.trainer_program,
                      settings.gpu_check_interval, inbox, metrics);
  }
  agent.Run();
  client.Stop(kFlushTimeout);
  LogInfo("worker stopped");
  return OkStatus();
}

}  // namespace gp::agent
