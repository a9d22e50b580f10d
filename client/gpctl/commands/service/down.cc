// gpctl down.
#include <fmt/format.h>

#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/service/saved_runs.h"
#include "client/gpctl/session/live_contexts.h"
#include "client/gpctl/session/service_context.h"
#include "client/gpctl/terminal/confirmation.h"

namespace gp::gpctl {
namespace {

struct DownOptions {
  bool purge = false;
  bool yes = false;
  bool now = false;
};

// Deletes the state directory. REQUIRES: the service is stopped, and the caller holds its locks.
Status Purge(const ServiceDirectory& directory, const DownOptions& options, Session& session) {
  if (!FileExists(directory.root())) return OkStatus();
  if (!directory.IsOurs()) {
    return FailedPrecondition("{} was not made by 'gpctl up' and is left alone", directory.root());
  }
  const std::string question =
      fmt::format("Delete {} with all runs and checkpoints?", directory.root());
  if (!options.yes) {
    ASSIGN_OR_RETURN(const bool agreed, Confirmed(question, session.console()));
    if (!agreed) {
      return FailedPrecondition("nothing was deleted in {}; --purge needs a 'y' or --yes",
                                directory.root());
    }
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

}  // namespace

void AddDownCommand(CommandSet& commands) {
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

}  // namespace gp::gpctl
