// gpctl up, down.
#include "client/gpctl/commands/service/up.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/text/counted_noun.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/service/monitoring.h"
#include "client/gpctl/service/saved_runs.h"
#include "client/gpctl/session/context_file.h"
#include "client/gpctl/session/live_contexts.h"
#include "client/gpctl/terminal/confirmation.h"
#include "client/gpctl/terminal/hint.h"
#include "rpc/listen_address.h"

namespace gp::gpctl {
namespace {

struct UpOptions {
  int workers = 0;
  std::string listen;
  std::string storage_root;
  bool adopt = false;
  bool insecure = false;
  int port_base = 0;
  std::string trainer;
  std::string gpu_trainer;
  std::string gpus;
  std::vector<std::string> data_roots;
  std::string gateway_listen;
  bool no_gateway = false;
  bool monitoring = false;
  bool detach = false;
};

struct DownOptions {
  bool purge = false;
  bool yes = false;
  bool now = false;
};

// The name for the service's context: "local" for the default state directory, otherwise the
// directory's name. Appends a number if a context of another service has that name.
std::string ContextName(const ServiceDirectory& directory, const ContextFile& file,
                        const Console& console) {
  const std::string wanted =
      directory.root() == DefaultStateDirectory(console) ? "local" : BaseNameOf(directory.root());
  const auto is_free = [&](const std::string& name) {
    const auto found = file.contexts.find(name);
    return found == file.contexts.end() || found->second.state_dir == directory.root();
  };
  std::string name = wanted;
  for (int number = 2; !is_free(name); ++number) name = fmt::format("{}-{}", wanted, number);
  return name;
}

// The URL of a program of the service; empty if the program does not run.
std::string Url(const ProcessIdentity& process, const std::string& address,
                const std::string& problem) {
  return process.pid == 0 || !problem.empty() ? "" : "http://" + address;
}

Json RecordFields(const ServiceDirectory& directory, const ServiceRecord& record) {
  return {
      {"state_dir", directory.root()},
      {"address", record.address},
      {"listen", record.listen},
      {"storage_root", record.storage_root},
      {"coordinator_metrics", record.coordinator_metrics},
      {"worker_metrics", record.worker_metrics},
      {"gateway", Url(record.gateway, record.gateway_address, record.gateway_problem)},
      {"gateway_metrics", record.gateway_metrics},
      {"gateway_problem", record.gateway_problem},
      {"monitoring", Url(record.monitoring, record.monitoring_address, record.monitoring_problem)},
      {"monitoring_problem", record.monitoring_problem},
      {"workers", record.workers},
      {"cores", record.cores},
      {"gpus", record.gpus},
      {"gpu_problem", record.gpu_problem},
      {"data_roots", record.data_roots},
      {"supervisor_pid", record.supervisor.pid},
      {"coordinator_pid", record.coordinator.pid},
      {"worker_pid", record.worker.pid},
      {"gateway_pid", record.gateway.pid},
      {"monitoring_pid", record.monitoring.pid}};
}

std::string GatewayLine(const ServiceRecord& record) {
  if (!record.gateway_problem.empty()) {
    return fmt::format("gateway      not running: {}\n", record.gateway_problem);
  }
  if (record.gateway.pid == 0) return "";  // started by an older version
  return fmt::format("gateway      http://{}   playground /, runs /runs\n", record.gateway_address);
}

std::string MonitoringLine(const ServiceRecord& record) {
  if (!record.monitoring_problem.empty()) {
    return fmt::format("Prometheus   not running: {}\n", record.monitoring_problem);
  }
  if (record.monitoring.pid == 0) return "";
  return fmt::format("Prometheus   http://{}   alerts /alerts\n", record.monitoring_address);
}

std::string ListenLine(const ServiceRecord& record) {
  if (record.listen.empty()) return "";
  return fmt::format("listens      {}   for others: TLS and a token\n", record.listen);
}

std::string DataLine(const ServiceRecord& record, const ServiceDirectory& directory,
                     const Session& session) {
  if (!record.data_roots.empty()) {
    return fmt::format("data         {}   run files may name files below it\n",
                       fmt::join(record.data_roots, ", "));
  }
  if (record.listen.empty()) return "";
  return fmt::format("data         runs of others may not name files; '{}' and '{}' change that\n",
                     session.HintFor(directory.root(), "down"),
                     session.HintFor(directory.root(),
                                     fmt::format("up --listen {} --data-root DIR", record.listen)));
}

std::string ServiceText(const ServiceRecord& record, const ServiceDirectory& directory,
                        Session& session) {
  std::string text = fmt::format("coordinator  {}   metrics http://{}/metrics\n", record.address,
                                 record.coordinator_metrics) +
                     ListenLine(record) + DataLine(record, directory, session) +
                     fmt::format("worker       {} on {}   metrics http://{}/metrics\n",
                                 CountedNoun(record.workers, "slot"),
                                 CountedNoun(record.cores, "core"), record.worker_metrics);
  for (const std::string& gpu : record.gpus) text += fmt::format("GPU          {}\n", gpu);
  if (!record.gpu_problem.empty()) {
    text += fmt::format("GPU          not used: {}\n", record.gpu_problem);
  }
  const std::string file = FreeRunFileName(session.console());
  const auto hint = [&](const std::string& command) {
    return session.HintFor(directory.root(), command);
  };
  return text + GatewayLine(record) + MonitoringLine(record) +
         fmt::format("state        {}   logs in {}\n", directory.root(), directory.Path("logs")) +
         NextText({hint("init " + file), hint("submit " + file + " --wait")}) +
         fmt::format("{:<13}{}\n", "stop", hint("down"));
}

void PrintService(const ServiceDirectory& directory, const ServiceRecord& record,
                  Session& session) {
  session.console().PrintChange(session.json()
                                    ? Pretty(With("LocalService", RecordFields(directory, record)))
                                    : ServiceText(record, directory, session));
}

bool ListensAsWanted(const std::string& address, const std::string& listen) {
  const auto wanted = rpc::ParseListenAddress(listen);
  const auto now = rpc::ParseListenAddress(address);
  if (!wanted.ok() || !now.ok()) return false;
  return wanted->Reachable().host == now->host && wanted->path == now->path &&
         (wanted->port == 0 || wanted->port == now->port);
}

Status CheckSameShape(const ServiceRecord& record, const UpOptions& options,
                      const ServiceDirectory& directory, const Session& session) {
  if (options.workers != 0 && options.workers != record.workers) {
    return FailedPrecondition(
        "a service with {} slots runs in {}; '{}' stops it, then it can start with {}",
        record.workers, directory.root(), session.HintFor(directory.root(), "down"),
        options.workers);
  }
  if (options.adopt) {
    return FailedPrecondition(
        "a service already runs in {} with its own storage; '{}' stops it, then it can start "
        "with --adopt",
        directory.root(), session.HintFor(directory.root(), "down"));
  }
  if (options.no_gateway && record.gateway.pid != 0) {
    return FailedPrecondition(
        "a service with a gateway runs in {}; '{}' stops it, then it can start without one",
        directory.root(), session.HintFor(directory.root(), "down"));
  }
  const std::string base_port = fmt::format(":{}", options.port_base);
  if (options.port_base > 0 && !record.coordinator_metrics.ends_with(base_port)) {
    return FailedPrecondition(
        "a service runs in {} with its metrics on {}; '{}' stops it, then it can start with "
        "--port-base {}",
        directory.root(), record.coordinator_metrics, session.HintFor(directory.root(), "down"),
        options.port_base);
  }
  if (options.monitoring && record.monitoring.pid == 0) {
    return FailedPrecondition(
        "a service without Prometheus runs in {}; '{}' stops it, then it can start with one",
        directory.root(), session.HintFor(directory.root(), "down"));
  }
  const auto check = [&](const char* what, const std::string& now, const std::string& wanted) {
    if (wanted.empty() || ListensAsWanted(now, wanted)) return OkStatus();
    return FailedPrecondition(
        "a {} runs in {} and listens on {}; '{}' stops it, then it can listen on {}", what,
        directory.root(), now.empty() ? "nothing" : now, session.HintFor(directory.root(), "down"),
        wanted);
  };
  const std::string storage =
      AbsolutePath(options.storage_root, session.console().working_directory);
  if (!options.storage_root.empty() && storage != record.storage_root) {
    return FailedPrecondition(
        "a service runs in {} and keeps its runs in {}, not in {}; if you moved the runs there, "
        "stop it with '{}' and start it again; for a new service choose another --state-dir",
        directory.root(), record.storage_root, storage, session.HintFor(directory.root(), "down"));
  }
  if (!options.data_roots.empty() && options.data_roots != record.data_roots) {
    return FailedPrecondition(
        "a service with other data roots ({}) runs in {}; '{}' stops it, then it can start with {}",
        record.data_roots.empty() ? "none" : fmt::format("{}", fmt::join(record.data_roots, ", ")),
        directory.root(), session.HintFor(directory.root(), "down"),
        fmt::join(options.data_roots, ", "));
  }
  RETURN_IF_ERROR(check("service", record.listen, options.listen));
  return check("gateway", record.gateway_address, options.gateway_listen);
}

// `up` while the service runs: shows the service. Fails if the flags ask for another configuration.
StatusOr<ExitCode> ShowRunning(const ServiceRecord& record, const UpOptions& options,
                               const ServiceDirectory& directory, Session& session) {
  RETURN_IF_ERROR(CheckSameShape(record, options, directory, session));
  SaveServiceContexts(directory, record, session);
  PrintService(directory, record, session);
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunInForeground(const ServiceDirectory& directory,
                                   const SupervisorOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const auto lock, LockToSupervise(directory));
  std::ostream& err = session.console().err;
  Supervisor supervisor(directory, options, session.console().interruption,
                        [&err](const std::string& line) { err << line << std::endl; });
  RETURN_IF_ERROR(supervisor.Start());
  SaveServiceContexts(directory, supervisor.record(), session);
  RETURN_IF_ERROR(supervisor.Announce());
  PrintService(directory, supervisor.record(), session);
  supervisor.Run();
  err << "Stopped.\n";
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunInBackground(const ServiceDirectory& directory,
                                   const SupervisorOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const auto record,
                   StartInBackground(directory, options, session.console().interruption));
  PrintService(directory, record, session);
  return ExitCode::kOk;
}

Status CheckTrainer(const std::string& path, const char* flag, const char* program) {
  if (path.empty() || access(path.c_str(), X_OK) == 0) return OkStatus();
  return WithContext(ErrnoStatus(errno, "run", path),
                     fmt::format("{} must name an executable {}", flag, program));
}

// `path` relative to gpctl's working directory; empty if it is empty.
std::string Absolute(const std::string& path, Session& session) {
  return path.empty() ? "" : AbsolutePath(path, session.console().working_directory);
}

// InvalidArgument unless `listen` is empty or a HOST:PORT.
Status CheckListen(const char* flag, const std::string& listen) {
  if (listen.empty()) return OkStatus();
  const auto address = rpc::ParseListenAddress(listen);
  if (!address.ok()) return WithContext(address.status(), flag);
  if (!address->is_socket()) return OkStatus();
  return InvalidArgument("{} {}: expected HOST:PORT, not a socket", flag, listen);
}

Status CheckGatewayFlags(const UpOptions& options) {
  if (options.gateway_listen.empty()) return OkStatus();
  if (options.no_gateway)
    return InvalidArgument("--gateway-listen and --no-gateway exclude each other");
  RETURN_IF_ERROR(CheckListen("--gateway-listen", options.gateway_listen));
  const auto address = rpc::ParseListenAddress(options.gateway_listen);
  return WithContext(rpc::CheckPrivate(*address, options.insecure), "--gateway-listen");
}

// The paths of --data-root, absolute, because the agent may run in another directory. Fails if one
// is not a directory that can be read.
StatusOr<std::vector<std::string>> DataRoots(const UpOptions& options, Session& session) {
  std::vector<std::string> roots;
  for (const std::string& root : options.data_roots) {
    roots.push_back(AbsolutePath(root, session.console().working_directory));
    RETURN_IF_ERROR(WithContext(ListDirectory(roots.back()).status(), "--data-root"));
  }
  return roots;
}

StatusOr<ExitCode> Up(const UpOptions& given, Session& session) {
  UpOptions options = given;
  ASSIGN_OR_RETURN(options.data_roots, DataRoots(given, session));
  RETURN_IF_ERROR(CheckListen("--listen", options.listen));
  RETURN_IF_ERROR(CheckGatewayFlags(options));
  if (options.monitoring) RETURN_IF_ERROR(FindPrometheus().status());
  const ServiceDirectory directory(session.StateDirectory());
  RETURN_IF_ERROR(directory.Create());
  const auto running = FindRunningService(directory, session.console().interruption);
  if (running.ok()) return ShowRunning(*running, options, directory, session);
  if (running.status().code() != StatusCode::kNotFound) return running.status();
  const SupervisorOptions supervisor{.program_directory = session.console().program_directory,
                                     .workers = options.workers,
                                     .listen = options.listen,
                                     .storage_root = Absolute(options.storage_root, session),
                                     .adopt = options.adopt,
                                     .insecure = options.insecure,
                                     .port_base = options.port_base,
                                     .gateway = !options.no_gateway,
                                     .gateway_listen = options.gateway_listen,
                                     .monitoring = options.monitoring,
                                     .trainer = Absolute(options.trainer, session),
                                     .gpu_trainer = Absolute(options.gpu_trainer, session),
                                     .gpus = options.gpus,
                                     .data_roots = options.data_roots};
  RETURN_IF_ERROR(CheckTrainer(supervisor.trainer, "--trainer", "gp-trainer"));
  RETURN_IF_ERROR(CheckTrainer(supervisor.gpu_trainer, "--gpu-trainer", "gp-trainer-cuda"));
  const auto code = options.detach ? RunInBackground(directory, supervisor, session)
                                   : RunInForeground(directory, supervisor, session);
  if (code.status().code() != StatusCode::kAlreadyExists) return code;
  ASSIGN_OR_RETURN(const auto other, FindRunningService(directory, session.console().interruption));
  return ShowRunning(other, options, directory, session);
}

// Deletes the state directory. REQUIRES: the service is stopped, and the caller holds its locks.
Status Purge(const ServiceDirectory& directory, const DownOptions& options, Session& session) {
  if (!FileExists(directory.root())) return OkStatus();
  if (!directory.IsOurs()) {
    return FailedPrecondition("{} was not made by 'gpctl up' and is left alone", directory.root());
  }
  const std::string question =
      fmt::format("Delete {} with all runs and checkpoints?", directory.root());
  if (!options.yes && !Confirmed(question, session.console())) {
    return FailedPrecondition("nothing was deleted in {}; --purge needs a 'y' or --yes",
                              directory.root());
  }
  RETURN_IF_ERROR(directory.Remove());
  ForgetContext(directory, session);
  return OkStatus();
}

// "the coordinator (pid 12), the worker (pid 13) and the gateway (pid 14)"
std::string Names(const StoppedService& stopped) {
  std::vector<std::string> found;
  const auto add = [&found](const char* name, int pid) {
    if (pid != 0) found.push_back(fmt::format("the {} (pid {})", name, pid));
  };
  add("coordinator", stopped.coordinator_pid);
  add("worker", stopped.worker_pid);
  add("gateway", stopped.gateway_pid);
  if (stopped.monitoring_pid != 0) {
    found.push_back(fmt::format("Prometheus (pid {})", stopped.monitoring_pid));
  }
  std::string names;
  for (size_t i = 0; i < found.size(); ++i) {
    names += (i == 0 ? "" : i + 1 == found.size() ? " and " : ", ") + found[i];
  }
  return names;
}

std::string DownText(const StoppedService& stopped, const ServiceDirectory& directory, bool purged,
                     const Session& session) {
  const std::string names = Names(stopped);
  std::string text = names.empty()
                         ? fmt::format("Nothing runs in {}.", directory.root())
                         : fmt::format("Stopped {} of the service in {}.", names, directory.root());
  if (purged) {
    return text + " The directory was deleted" + OtherServiceText(session.console(), "") + ".\n";
  }
  if (!names.empty()) {
    text += fmt::format(" Runs and checkpoints are kept; {} starts it again.",
                        session.HintFor(directory.root(), "up"));
  }
  return text + "\n";
}

// The runs that the stop will interrupt. Empty if the service cannot be asked, because then it is
// stopped all the same.
std::vector<StoppedRun> RunsToStop(const ServiceDirectory& directory, Session& session) {
  const auto record = directory.Load();
  if (!record.ok() || !ServiceRuns(directory).value_or(false)) return {};
  GlobalOptions brief = WithServer(session.options(), record->address);
  brief.timeout = "2s";
  Session asking(brief, session.console());
  const auto client = asking.Client();
  if (!client.ok()) return {};
  return RunsWithRanks(**client).value_or(std::vector<StoppedRun>());
}

Json SavedFields(const std::vector<StoppedRun>& runs) {
  Json saved = Json::array();
  for (const StoppedRun& run : runs) {
    saved.push_back({{"run_id", run.run_id}, {"name", run.name}, {"step", run.step}});
    const int64_t step = SavedStep(run);
    saved.back()["saved_step"] = step < 0 ? Json() : Json(step);
  }
  return saved;
}

StatusOr<ExitCode> Down(const DownOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const std::string path, session.ServiceDirectoryPath());
  const ServiceDirectory directory(path);
  const std::vector<StoppedRun> runs = RunsToStop(directory, session);
  ASSIGN_OR_RETURN(const StoppedService stopped,
                   StopService(directory, options.now ? StopWay::kAtOnce : StopWay::kSave));
  if (options.purge) RETURN_IF_ERROR(Purge(directory, options, session));
  if (session.json()) {
    Json document = Document("LocalService");
    document["state_dir"] = directory.root();
    document["running"] = false;
    document["purged"] = options.purge;
    if (!options.purge) document["runs"] = SavedFields(runs);
    document["coordinator_pid"] = stopped.coordinator_pid;
    document["worker_pid"] = stopped.worker_pid;
    document["gateway_pid"] = stopped.gateway_pid;
    document["monitoring_pid"] = stopped.monitoring_pid;
    session.console().PrintChange(Pretty(document));
  } else {
    session.console().PrintChange(DownText(stopped, directory, options.purge, session) +
                                  (options.purge ? "" : SavedText(runs)));
  }
  return ExitCode::kOk;
}

void AddUp(CommandSet& commands) {
  const Command command = commands.Add(
      "up", kServiceGroup, "Start a coordinator, a worker and a gateway on this machine");
  auto options = std::make_shared<UpOptions>();
  command
      .Option("--workers", options->workers,
              "slots among which the cores are divided; each holds one rank of a run, with a "
              "thread on each of its cores (default: one slot)")
      .Between(1, 4096);
  command.Option(
      "--listen", options->listen,
      "HOST:PORT to serve on for others, with TLS and tokens; port 0: a free one (default: "
      "only a socket in the state directory, for you alone)");
  command
      .Option("--storage-root", options->storage_root,
              "directory of runs and checkpoints; nodes that join must see it under the same "
              "path (default: where it was, or in the state directory)")
      .Path();
  command.Switch("--adopt", options->adopt,
                 "accept the storage root even if it is not that of the last start or lacks "
                 "checkpoints; runs continue from what it holds");
  command.Switch("--insecure", options->insecure,
                 "no TLS and no tokens on --listen: anyone who reaches it may do anything; also "
                 "allows --gateway-listen for other machines without API keys");
  command
      .Option("--port-base", options->port_base,
              "first of three consecutive ports for metrics; Prometheus takes the one after them "
              "(default: free ports)")
      .Between(1, 65532);
  command
      .Option("--trainer", options->trainer,
              "trainer program (default: the gp-trainer beside gp-worker)")
      .Path();
  command
      .Option("--gpu-trainer", options->gpu_trainer,
              "trainer program for GPUs (default: the gp-trainer-cuda beside gp-worker)")
      .Path();
  command.Option("--gpus", options->gpus,
                 "all, none, or numbers and UUIDs as in CUDA_VISIBLE_DEVICES (default: all)");
  command
      .Option("--data-root", options->data_roots,
              "directory below which all runs may name files, also those that others submit "
              "through --listen; may be repeated (default: every file for you, none for others)")
      .Path()
      .OneValueEach();
  command.Option("--gateway-listen", options->gateway_listen,
                 "HOST:PORT of the pages and the OpenAI-compatible API (default: a free port of "
                 "this machine, the same at every start)");
  command.Switch("--no-gateway", options->no_gateway, "start no gateway");
  command.Switch("--monitoring", options->monitoring,
                 "run Prometheus beside the service, with gp's rules and alerts; it must be "
                 "installed");
  command.Switch("-d,--detach", options->detach, "run it in the background");
  commands.Bind(command, [options](Session& session) { return Up(*options, session); });
}

void AddDown(CommandSet& commands) {
  const Command command =
      commands.Add("down", kServiceGroup,
                   "Stop the service of the current context that 'gpctl up' started; runs save "
                   "their last step");
  auto options = std::make_shared<DownOptions>();
  command.Switch("--now", options->now, "do not save the last step of runs");
  command.Switch("--purge", options->purge, "delete its state directory: runs, checkpoints, logs");
  command.Switch("-y,--yes", options->yes, "do not ask");
  commands.Bind(command, [options](Session& session) { return Down(*options, session); });
}

}  // namespace

void SaveServiceContexts(const ServiceDirectory& directory, const ServiceRecord& record,
                         Session& session) {
  const Console& console = session.console();
  const Context context{.server = record.address, .state_dir = directory.root()};
  Status status = SaveStateContext(directory.root(), context);
  const std::string path = ContextFilePath(console);
  auto file = LoadContextFile(path);
  if (status.ok()) status = file.status();
  if (status.ok()) {
    file->current = ContextName(directory, *file, console);
    file->contexts[file->current] = context;
    status = SaveContextFile(path, *file);
  }
  if (!status.ok())
    session.console().err << "warning: the context was not saved: " << Message(status) << "\n";
}

void ForgetContext(const ServiceDirectory& directory, Session& session) {
  const std::string path = ContextFilePath(session.console());
  auto file = LoadContextFile(path);
  if (!file.ok()) return;
  std::erase_if(file->contexts,
                [&](const auto& entry) { return entry.second.state_dir == directory.root(); });
  if (!file->contexts.contains(file->current)) file->current.clear();
  const Status status = SaveContextFile(path, *file);
  if (!status.ok()) session.console().err << "warning: " << Message(status) << "\n";
}

std::string CurrentContext(const Session& session) {
  const auto file = LoadContextFile(ContextFilePath(session.console()));
  return file.ok() ? file->current : "";
}

void MakeCurrent(const std::string& name, Session& session) {
  const std::string path = ContextFilePath(session.console());
  auto file = LoadContextFile(path);
  if (!file.ok() || !file->contexts.contains(name)) return;
  file->current = name;
  const Status status = SaveContextFile(path, *file);
  if (!status.ok()) session.console().err << "warning: " << Message(status) << "\n";
}

GlobalOptions WithServer(GlobalOptions options, const std::string& address) {
  options.server = address;
  return options;
}

void AddServiceCommands(CommandSet& commands) {
  AddUp(commands);
  AddDown(commands);
}

}  // namespace gp::gpctl
