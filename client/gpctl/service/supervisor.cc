#include "client/gpctl/service/supervisor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "client/api/run_client.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/service/monitoring.h"
#include "rpc/listen_address.h"
#include "rpc/local_host.h"

namespace gp::gpctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDaemonPoll{50};
// A daemon that has run for this long counts as started; its failure count is reset.
constexpr std::chrono::seconds kHealthy{10};
// An address reserved for documentation (RFC 5737). The route to it is the default route, so it
// shows which of this host's addresses other hosts can reach.
constexpr char kElsewhere[] = "192.0.2.1";

struct AddressFile {
  std::string address;
  std::string metrics;
  std::string listen;
  int pid = 0;
};

StatusOr<AddressFile> ReadAddressFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1 << 16));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return DataLoss("{} is not the address file that a gp program writes", path);
  return AddressFile{json.value("address", ""), json.value("metrics", ""), json.value("listen", ""),
                     json.value("pid", 0)};
}

// Returns `wanted`. If `wanted` takes any free port, uses the port of `previous` when it is still
// free.
std::string KeepingPort(const std::string& wanted, const std::string& previous) {
  auto address = rpc::ParseListenAddress(wanted);
  const auto before = rpc::ParseListenAddress(previous);
  if (!address.ok() || address->is_socket() || address->port != 0 || !before.ok()) return wanted;
  address->port = before->port;
  return rpc::CheckBindable(*address).ok() ? address->Text() : wanted;
}

// The end of what a program has written to its log since the log had `begin` bytes.
std::string LastWords(const std::string& path, size_t begin) {
  constexpr size_t kBytes = 600;
  const StatusOr<std::string> log = ReadFile(path);
  if (!log.ok() || log->size() <= begin) return "it wrote nothing";
  const std::string text = log->substr(begin);
  if (text.size() <= kBytes) return text;
  const std::string tail = text.substr(text.size() - kBytes);
  return tail.substr(tail.find('\n') + 1);
}

}  // namespace

Supervisor::Supervisor(ServiceDirectory directory, SupervisorOptions options,
                       client::Interruption& interruption,
                       std::function<void(const std::string&)> tell)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      adopt_(options_.adopt),
      interruption_(interruption),
      tell_(std::move(tell)) {
  coordinator_.name = "coordinator";
  coordinator_.program = JoinPath(options_.program_directory, "gp-coordinator");
  worker_.name = "worker";
  worker_.program = JoinPath(options_.program_directory, "gp-worker");
  gateway_.name = "gateway";
  gateway_.program = JoinPath(options_.program_directory, "gp-gateway");
  monitoring_.name = "prometheus";
}

Status Supervisor::Start() {
  const auto previous = directory_.Load();
  if (previous.ok()) record_ = *previous;
  const std::string storage = record_.storage_root;
  ChooseStorage(previous.ok());
  coordinator_.process = record_.coordinator;
  worker_.process = record_.worker;
  gateway_.process = record_.gateway;
  monitoring_.process = record_.monitoring;
  record_.workers = options_.workers;
  record_.ready = false;
  ASSIGN_OR_RETURN(record_.supervisor, IdentifyProcess(getpid()));
  const Status status = StartAll();
  if (status.ok()) return status;
  if (!storage.empty()) record_.storage_root = storage;  // keep the old root: the start failed
  Stop(status.code() == StatusCode::kCancelled ? Which::kAll : Which::kSpawned);
  return status;
}

// Sets the storage root for this start: that of the options, otherwise that of the last start,
// otherwise the one in the state directory. The coordinator refuses storage that is not its own.
void Supervisor::ChooseStorage(bool has_runs) {
  if (has_runs && record_.storage_root.empty()) record_.storage_root = directory_.Storage();
  if (!options_.storage_root.empty()) record_.storage_root = options_.storage_root;
  if (record_.storage_root.empty()) record_.storage_root = directory_.Storage();
}

Status Supervisor::StartAll() {
  Adopt(coordinator_);
  if (!IsAlive(coordinator_.process)) RETURN_IF_ERROR(StartDaemon(coordinator_));
  RETURN_IF_ERROR(AwaitAddress(coordinator_));
  adopt_ = false;
  record_.storage_identity = StorageIdentity(record_.storage_root);
  RememberPorts();
  Adopt(worker_);
  if (!IsAlive(worker_.process)) RETURN_IF_ERROR(StartDaemon(worker_));
  RETURN_IF_ERROR(AwaitAddress(worker_));
  RememberPorts();
  RETURN_IF_ERROR(AwaitNode());
  const Status gateway = StartGateway();
  if (gateway.code() == StatusCode::kCancelled) return gateway;
  record_.gateway_problem = gateway.ok() ? "" : Message(gateway);
  const Status monitoring = StartMonitoring();
  if (monitoring.code() == StatusCode::kCancelled) return monitoring;
  record_.monitoring_problem = monitoring.ok() ? "" : Message(monitoring);
  return Save();
}

bool Supervisor::GatewayIsWanted() const {
  return options_.gateway && FileExists(gateway_.program);
}

Status Supervisor::StartGateway() {
  Adopt(gateway_);
  if (!options_.gateway) {
    RETURN_IF_ERROR(StopProcess(gateway_.process, options_.stop_grace));
    gateway_.process = {};
    return FailedPrecondition("switched off by --no-gateway");
  }
  if (!GatewayIsWanted()) {
    return NotFound("{} is missing; 'make programs' builds it", gateway_.program);
  }
  if (!IsAlive(gateway_.process)) RETURN_IF_ERROR(StartDaemon(gateway_));
  RETURN_IF_ERROR(AwaitAddress(gateway_));
  RememberPorts();
  return OkStatus();
}

// Starts Prometheus after the daemons, because its configuration contains their addresses. Stops a
// Prometheus that is still running, because it may scrape old addresses.
Status Supervisor::StartMonitoring() {
  RETURN_IF_ERROR(StopProcess(std::exchange(monitoring_.process, {}), options_.stop_grace));
  if (!options_.monitoring) return OkStatus();
  ASSIGN_OR_RETURN(const std::string program, FindPrometheus());
  ASSIGN_OR_RETURN(record_.monitoring_address,
                   WithFreePort(MetricsAddress(record_.monitoring_address, 3)));
  record_.gateway = gateway_.process;
  RETURN_IF_ERROR(WriteMonitoringFiles(directory_, record_));
  monitoring_.program = program;  // set it now: from here on Revive may restart it
  RETURN_IF_ERROR(StartDaemon(monitoring_));
  return AwaitMonitoring();
}

Status Supervisor::AwaitMonitoring() {
  const auto deadline = steady_clock::now() + options_.start_timeout;
  while (steady_clock::now() < deadline) {
    if (AcceptsConnections(record_.monitoring_address)) return OkStatus();
    ReapChildren();
    if (!IsAlive(monitoring_.process)) return DiedAtStart(monitoring_);
    if (interruption_.WaitFor(kDaemonPoll)) return Cancelled("interrupted");
  }
  return DeadlineExceeded("Prometheus runs but does not serve on {}; its log: {}",
                          record_.monitoring_address, directory_.Log(monitoring_.name));
}

Status Supervisor::Announce() {
  record_.ready = true;
  return Save();
}

// Finds a running daemon that the record lacks, because a supervisor was killed right after
// starting it. The daemon's process number is in its address file. The file may be old, and another
// service's daemon may have that number now, so check that the process was started with this
// address file.
void Supervisor::Adopt(Daemon& daemon) {
  if (IsAlive(daemon.process)) return;
  const std::string path = directory_.AddressFile(daemon.name);
  const auto file = ReadAddressFile(path);
  if (!file.ok()) return;
  const auto process = IdentifyProcess(file->pid);
  if (!process.ok() || process->program != daemon.program) return;
  if (HasArgument(file->pid, path)) daemon.process = *process;
}

std::string Supervisor::MetricsAddress(const std::string& previous, int offset) const {
  const int port = options_.port_base > 0 ? options_.port_base + offset : 0;
  return KeepingPort(fmt::format("127.0.0.1:{}", port), previous);
}

// The address on which this node's trainers listen for other nodes: the one on which the
// coordinator serves other nodes. Empty if it serves only this machine.
std::string Supervisor::DataAddress() const {
  const auto listen = rpc::ParseListenAddress(options_.listen);
  if (!listen.ok() || listen->IsLocal()) return "";
  if (listen->host != "0.0.0.0" && listen->host != "::") return listen->host;
  return rpc::LocalHostToward(kElsewhere).value_or("");
}

std::vector<std::string> Supervisor::GatewayArguments() const {
  const std::string listen =
      options_.gateway_listen.empty() ? "127.0.0.1:0" : options_.gateway_listen;
  std::vector<std::string> arguments = {
      "--coordinator",    record_.address,
      "--listen",         KeepingPort(listen, record_.gateway_address),
      "--metrics-listen", MetricsAddress(record_.gateway_metrics, 2),
      "--address-file",   directory_.AddressFile(gateway_.name)};
  if (options_.insecure) arguments.push_back("--insecure");
  return arguments;
}

std::vector<std::string> Supervisor::Arguments(const Daemon& daemon) const {
  if (&daemon == &gateway_) return GatewayArguments();
  if (&daemon == &monitoring_) return PrometheusArguments(directory_, record_.monitoring_address);
  std::vector<std::string> arguments = {"--storage-root", record_.storage_root, "--address-file",
                                        directory_.AddressFile(daemon.name)};
  const auto add = [&arguments](const std::string& flag, const std::string& value) {
    arguments.push_back(flag);
    arguments.push_back(value);
  };
  if (&daemon == &coordinator_) {
    add("--state-dir", directory_.CoordinatorState());
    add("--socket", directory_.Socket());
    if (!options_.listen.empty()) {
      add("--listen", KeepingPort(options_.listen, record_.listen));
      if (options_.insecure) arguments.push_back("--insecure");
    }
    add("--metrics-listen", MetricsAddress(record_.coordinator_metrics, 0));
    if (adopt_) arguments.push_back("--adopt");
    return arguments;
  }
  add("--coordinator", record_.address);
  add("--state-dir", directory_.WorkerState());
  add("--metrics-listen", MetricsAddress(record_.worker_metrics, 1));
  add("--slots", fmt::format("{}", std::max(1, options_.workers)));
  if (const std::string host = DataAddress(); !host.empty()) add("--data-address", host);
  if (!options_.trainer.empty()) add("--trainer", options_.trainer);
  if (!options_.gpu_trainer.empty()) add("--gpu-trainer", options_.gpu_trainer);
  if (!options_.gpus.empty()) add("--gpus", options_.gpus);
  for (const std::string& root : options_.data_roots) add("--data-root", root);
  return arguments;
}

Status Supervisor::StartDaemon(Daemon& daemon) {
  RETURN_IF_ERROR(RemoveTree(directory_.AddressFile(daemon.name)));
  daemon.log_begin = FileSize(directory_.Log(daemon.name)).value_or(0);
  ASSIGN_OR_RETURN(daemon.process, SpawnDetached({.program = daemon.program,
                                                  .arguments = Arguments(daemon),
                                                  .log_path = directory_.Log(daemon.name)}));
  daemon.spawned = true;
  daemon.started = steady_clock::now();
  daemon.address.clear();
  if (&daemon == &worker_) record_.data_roots = options_.data_roots;
  Recorded(daemon) = daemon.process;
  return Save();
}

ProcessIdentity& Supervisor::Recorded(const Daemon& daemon) {
  if (&daemon == &coordinator_) return record_.coordinator;
  if (&daemon == &monitoring_) return record_.monitoring;
  return &daemon == &worker_ ? record_.worker : record_.gateway;
}

Status Supervisor::DiedAtStart(const Daemon& daemon) const {
  return Internal("{} exited at startup:\n{}\nIts log: {}", BaseNameOf(daemon.program),
                  LastWords(directory_.Log(daemon.name), daemon.log_begin),
                  directory_.Log(daemon.name));
}

// Waits for the daemon's address file, which it writes when it serves; the agent writes it when it
// has registered.
Status Supervisor::AwaitAddress(Daemon& daemon) {
  const auto deadline = steady_clock::now() + options_.start_timeout;
  while (steady_clock::now() < deadline) {
    const auto file = ReadAddressFile(directory_.AddressFile(daemon.name));
    if (file.ok() && file->pid == daemon.process.pid) {
      daemon.address = file->address;
      daemon.metrics = file->metrics;
      daemon.listen = file->listen;
      return OkStatus();
    }
    ReapChildren();
    if (!IsAlive(daemon.process)) return DiedAtStart(daemon);
    if (interruption_.WaitFor(kDaemonPoll)) return Cancelled("interrupted");
  }
  const std::string log = directory_.Log(daemon.name);
  return DeadlineExceeded("gp-{} runs but is not ready after {} s; the end of its log {}:\n{}",
                          daemon.name, options_.start_timeout.count() / 1000, log,
                          LastWords(log, daemon.log_begin));
}

Status Supervisor::AwaitNode() {
  client::RunClient client({.address = record_.address, .timeout = options_.start_timeout},
                           interruption_);
  const auto deadline = steady_clock::now() + options_.start_timeout;
  while (steady_clock::now() < deadline) {
    ASSIGN_OR_RETURN(const v1::NodesResponse response, client.Nodes());
    for (const v1::Node& node : response.nodes()) {
      if (!node.connected() || node.slots().empty()) continue;
      RememberSlots(node);
      return OkStatus();
    }
    if (interruption_.WaitFor(kDaemonPoll)) return Cancelled("interrupted");
  }
  return DeadlineExceeded("gp-worker dialled {} but the coordinator does not list it; its log: {}",
                          record_.address, directory_.Log(worker_.name));
}

void Supervisor::RememberSlots(const v1::Node& node) {
  std::set<int> cores;
  record_.workers = 0;
  record_.gpus.clear();
  record_.gpu_problem = node.gpu_problem();
  for (const v1::Slot& slot : node.slots()) {
    if (!IsGpu(slot)) {
      ++record_.workers;
      cores.insert(slot.cores().begin(), slot.cores().end());
    } else if (slot.problem().empty()) {
      record_.gpus.push_back(GpuText(slot));
    } else {
      record_.gpu_problem = slot.slot_id() + ": " + slot.problem();
    }
  }
  record_.cores = static_cast<int>(cores.size());
}

void Supervisor::RememberPorts() {
  record_.address = coordinator_.address;
  record_.listen = coordinator_.listen;
  record_.coordinator_metrics = coordinator_.metrics;
  if (!worker_.metrics.empty()) record_.worker_metrics = worker_.metrics;
  if (gateway_.address.empty()) return;
  record_.gateway_address = gateway_.address;
  record_.gateway_metrics = gateway_.metrics;
}

Status Supervisor::Save() {
  record_.coordinator = coordinator_.process;
  record_.worker = worker_.process;
  record_.gateway = gateway_.process;
  record_.monitoring = monitoring_.process;
  return directory_.Save(record_);
}

void Supervisor::Run() {
  interruption_.MindInsistence();
  while (!interruption_.WaitFor(kDaemonPoll)) {
    ReapChildren();
    Revive(coordinator_);
    Revive(worker_);
    if (GatewayIsWanted()) ReviveGateway();
    if (!monitoring_.program.empty()) ReviveMonitoring();
  }
  Stop(Which::kAll);
}

void Supervisor::Revive(Daemon& daemon) {
  const auto now = steady_clock::now();
  if (IsAlive(daemon.process)) {
    if (now - daemon.started > kHealthy) daemon.failures = 0;
    return;
  }
  if (daemon.process.pid != 0) {
    tell_(fmt::format("{} (pid {}) ended; starting it again", BaseNameOf(daemon.program),
                      daemon.process.pid));
    daemon.process = {};
    daemon.next_start =
        now + (daemon.failures == 0 ? std::chrono::nanoseconds(0)
                                    : BackoffCeiling(options_.restart, daemon.failures - 1));
    ++daemon.failures;
  }
  if (now >= daemon.next_start) Restart(daemon);
}

// Restarts the gateway if it has ended. Also records the address of a gateway that became ready
// only after Start had stopped waiting for it.
void Supervisor::ReviveGateway() {
  Revive(gateway_);
  if (!gateway_.address.empty()) return;
  const auto file = ReadAddressFile(directory_.AddressFile(gateway_.name));
  if (!file.ok() || file->pid != gateway_.process.pid) return;
  gateway_.address = file->address;
  gateway_.metrics = file->metrics;
  record_.gateway_problem.clear();
  RememberPorts();
  const Status status = Save();
  if (!status.ok()) tell_(Message(status));
}

// The same for Prometheus, which has no address file: checks whether it accepts connections.
void Supervisor::ReviveMonitoring() {
  Revive(monitoring_);
  if (record_.monitoring_problem.empty() || !IsAlive(monitoring_.process)) return;
  if (!AcceptsConnections(record_.monitoring_address)) return;
  record_.monitoring_problem.clear();
  const Status status = Save();
  if (!status.ok()) tell_(Message(status));
}

void Supervisor::Restart(Daemon& daemon) {
  const Status status = StartDaemon(daemon);
  if (status.ok()) return;
  tell_(fmt::format("{} cannot be started: {}", BaseNameOf(daemon.program), Message(status)));
  daemon.next_start = steady_clock::now() + BackoffCeiling(options_.restart, daemon.failures++);
}

// Stops the agent before the coordinator, because the agent's trainers save and the coordinator
// must seal their checkpoints.
void Supervisor::Stop(Which which) {
  const auto hurried = [this] { return interruption_.insisted(); };
  for (const auto& together :
       {std::vector{&monitoring_, &gateway_, &worker_}, std::vector{&coordinator_}}) {
    std::vector<ProcessIdentity> processes;
    for (Daemon* daemon : together) {
      const bool keep = which == Which::kSpawned && !daemon->spawned && IsAlive(daemon->process);
      if (!keep) processes.push_back(std::exchange(daemon->process, {}));
    }
    const Status status = StopProcesses(processes, options_.stop_grace, hurried);
    if (!status.ok()) tell_(Message(status));
  }
  record_.supervisor = {};
  record_.ready = false;
  const Status status = Save();
  if (!status.ok()) tell_(Message(status));
}

}  // namespace gp::gpctl
