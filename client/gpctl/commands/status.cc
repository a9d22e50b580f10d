// gpctl status, why.
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/connection_text.h"
#include "client/gpctl/render/newest_events.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/why_text.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr int kLiveRunsMax = 1000;
constexpr char kRunHelp[] = "name, id, unique prefix of an id, or @last";

StatusOr<NewestEvents> ReadNewestEvents(client::RunClient& client, const v1::Run& run) {
  v1::EventsRequest request;
  request.set_run(run.run_id());
  NewestEvents newest;
  RETURN_IF_ERROR(client.Events(request, [&](const v1::RunEvent& event) {
    newest.Add(event);
    return true;
  }));
  return newest;
}

struct StatusOptions {
  std::string run;
  bool run_file = false;
};

StatusOr<ExitCode> PrintRunFile(const v1::Run& run, Session& session) {
  if (run.resolved().empty()) {
    return NotFound("the coordinator did not send the run file of {}", run.name());
  }
  session.console().out << SafeText(run.resolved(), true);
  return ExitCode::kOk;
}

StatusOr<ExitCode> ShowStatus(const StatusOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  if (options.run_file) return PrintRunFile(run, session);
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  const bool insecure = session.WarnIfInsecure();
  if (session.json()) {
    Json document = With("Run", RunFields(run));
    document["insecure"] = insecure;
    document["connection"] = ConnectionSecurity(*client);
    session.console().out << Pretty(document);
    return ExitCode::kOk;
  }
  DetailsContext context{.connection = ConnectionText(*client)};
  ASSIGN_OR_RETURN(const NewestEvents newest, ReadNewestEvents(*client, run));
  context.newest_events = {newest.events().begin(), newest.events().end()};
  const std::string next = NextCommand(run);
  if (!next.empty()) context.next = session.Hint(next);
  session.console().out << RunDetails(run, context, session.Now(), session.style());
  return ExitCode::kOk;
}

// Fetches the nodes and the live runs. One page of runs is enough, because runs that hold slots
// come first.
StatusOr<Surroundings> LookAround(client::RunClient& client) {
  v1::ListRequest live;
  live.set_limit(kLiveRunsMax);
  ASSIGN_OR_RETURN(const v1::ListResponse runs, client.List(live));
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client.Nodes());
  return Surroundings{{runs.runs().begin(), runs.runs().end()},
                      {nodes.nodes().begin(), nodes.nodes().end()}};
}

StatusOr<ExitCode> Why(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const Surroundings around, LookAround(*client));
  session.console().out << (session.json()
                                ? Pretty(With("Reason", WhyFields(run, around, session.Now())))
                                : WhyText(run, around, session.Now(), session.style()));
  return ExitCode::kOk;
}

void AddStatus(CommandSet& commands) {
  const Command command = commands.Add(
      "status", kRunGroup, "Show one run: state, reason, progress, checkpoint, newest events");
  auto options = std::make_shared<StatusOptions>();
  command.Option("RUN", options->run, kRunHelp).Required();
  command.Switch(
      "--run-file", options->run_file,
      "print its run file instead, with every key and its value; submitting it repeats the run");
  commands.Bind(command, [options](Session& session) { return ShowStatus(*options, session); });
}

void AddWhy(CommandSet& commands) {
  const Command command =
      commands.Add("why", kRunGroup, "Say why a run is in its state, and what would change that");
  auto reference = std::make_shared<std::string>();
  command.Option("RUN", *reference, kRunHelp).Required();
  commands.Bind(command, [reference](Session& session) { return Why(*reference, session); });
}

}  // namespace

void AddStatusCommands(CommandSet& commands) {
  AddStatus(commands);
  AddWhy(commands);
}

}  // namespace gp::gpctl
