// gpctl pause, resume.
#include <memory>

#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/legs/another_leg.h"
#include "client/gpctl/commands/watch.h"
#include "client/gpctl/render/run_json.h"

namespace gp::gpctl {
namespace {

void Print(const v1::Run& run, const std::string& text, Session& session) {
  session.console().PrintChange(session.json() ? OneLine(With("Run", RunFields(run))) : text);
}

StatusOr<ExitCode> Pause(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run found, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Run run, client->Pause(found.run_id()));
  const bool paused = run.state() == v1::RUN_STATE_PAUSED;
  Print(run,
        paused
            ? fmt::format("{} ({}) is paused\n", run.name(), run.run_id())
            : fmt::format("{} ({}) saves its last step, then pauses\n", run.name(), run.run_id()),
        session);
  if (!session.json()) {
    session.console().err << fmt::format("Go on: {}\n", session.Hint("resume " + run.name()));
  }
  return ExitCode::kOk;
}

struct ResumeOptions {
  std::string run;
  bool wait = false;
};

// A paused run continues its leg; an ended run begins another leg.
StatusOr<ExitCode> Resume(const ResumeOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run found, session.FindRun(options.run));
  if (client::IsTerminal(found.state())) {
    v1::ContinueRequest request;
    request.set_run(found.run_id());
    return BeginLeg(std::move(request), found, options.wait, session);
  }
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Run run, client->Resume(found.run_id()));
  if (!options.wait || !session.json()) {
    Print(run,
          fmt::format("{} ({}) is {}: {}\n", run.name(), run.run_id(),
                      client::StateName(run.state()), run.reason()),
          session);
  }
  if (options.wait) return FollowRun(run, {.last_document_only = true}, session);
  return ExitCode::kOk;
}

}  // namespace

void AddPauseCommands(CommandSet& commands) {
  const Command pause = commands.Add(
      "pause", kRunGroup, "Save the last step of a run and free its slots until it is resumed");
  auto paused = std::make_shared<std::string>();
  pause.Option("RUN", *paused, kRunArgument).Required();
  commands.Bind(pause, [paused](Session& session) { return Pause(*paused, session); });

  const Command resume = commands.Add(
      "resume", kRunGroup, "Continue a paused, failed or cancelled run from its newest checkpoint");
  auto resumed = std::make_shared<ResumeOptions>();
  resume.Option("RUN", resumed->run, kRunArgument).Required();
  resume.Switch("--wait", resumed->wait, kWaitForEnd);
  commands.Bind(resume, [resumed](Session& session) { return Resume(*resumed, session); });
}

}  // namespace gp::gpctl
