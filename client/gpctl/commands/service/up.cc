// gpctl up.
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/service/service_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/service/monitoring.h"
#include "client/gpctl/session/service_context.h"
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

void PrintService(const ServiceDirectory& directory, const ServiceRecord& record,
                  Session& session) {
  session.console().PrintChange(session.json()
                                    ? Pretty(With("LocalService", ServiceFields(directory, record)))
                                    : ServiceText(directory, record, session));
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

}  // namespace

void AddUpCommand(CommandSet& commands) {
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

}  // namespace gp::gpctl
