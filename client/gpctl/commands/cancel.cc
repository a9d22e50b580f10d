// gpctl cancel.
#include <memory>

#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_words.h"

namespace gp::gpctl {
namespace {

struct CancelOptions {
  std::vector<std::string> runs;
  bool now = false;
};

StatusOr<v1::Run> CancelOne(const std::string& reference, bool now, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  return client->Cancel(run.run_id(), now);
}

// Tries to cancel all runs; the first error decides the exit code.
StatusOr<ExitCode> Cancel(const CancelOptions& options, Session& session) {
  Status first_error;
  for (const std::string& reference : options.runs) {
    const StatusOr<v1::Run> run = CancelOne(reference, options.now, session);
    if (!run.ok()) {
      if (!first_error.ok()) session.console().err << "error: " << Message(run.status()) << "\n";
      if (first_error.ok()) first_error = run.status();
      continue;
    }
    session.console().PrintChange(session.json()
                                      ? OneLine(With("Run", RunFields(*run)))
                                      : fmt::format("{} ({}) is {}\n", run->name(), run->run_id(),
                                                    client::StateName(run->state())));
  }
  RETURN_IF_ERROR(first_error);
  return ExitCode::kOk;
}

}  // namespace

void AddCancelCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "cancel", kRunGroup, "Stop runs for good; saves the last step and keeps checkpoints");
  auto options = std::make_shared<CancelOptions>();
  command.Option("RUN", options->runs, "names, ids, unique prefixes of ids, or @last").Required();
  command.Switch("--now", options->now, "do not save the last step");
  commands.Bind(command, [options](Session& session) { return Cancel(*options, session); });
}

}  // namespace gp::gpctl
