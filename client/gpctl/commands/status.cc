// gpctl list, status, why.
#include <deque>
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/hint.h"
#include "client/gpctl/render/connection_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr size_t kNewestEvents = 5;
constexpr int kPageSize = 100;
constexpr char kRunHelp[] = "name, id, unique prefix of an id, or @last";

struct ListOptions {
  bool all = false;
  bool names_only = false;
  int limit = 50;
  std::string state;
};

struct ListedRuns {
  std::vector<v1::Run> runs;  // newest first
  bool truncated = false;     // there are more than the limit
};

StatusOr<ListedRuns> ListRuns(client::RunClient& client, const ListOptions& options,
                              const std::string& run_namespace) {
  const v1::RunState wanted = StateNamed(options.state);
  v1::ListRequest request;
  request.set_include_finished(options.all || client::IsTerminal(wanted));
  request.set_limit(kPageSize);
  request.set_namespace_(run_namespace);
  ListedRuns listed;
  const auto limit = static_cast<size_t>(options.limit);
  do {
    ASSIGN_OR_RETURN(const v1::ListResponse page, client.List(request));
    for (const v1::Run& run : page.runs()) {
      if (!options.state.empty() && run.state() != wanted) continue;
      if (listed.runs.size() == limit) {
        listed.truncated = true;
        return listed;
      }
      listed.runs.push_back(run);
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return listed;
}

std::string ListJson(const ListedRuns& listed, bool insecure) {
  Json document = Document("RunList");
  document["insecure"] = insecure;
  document["truncated"] = listed.truncated;
  document["items"] = Json::array();
  for (const v1::Run& run : listed.runs) document["items"].push_back(RunFields(run));
  return Pretty(document);
}

std::string NoRunsText(const Session& session) {
  const std::string file = FreeRunFileName(session.console());
  return "There are no runs yet.\n" +
         NextText({session.Hint("init " + file), session.Hint("submit " + file + " --wait")});
}

std::string ListText(const std::vector<v1::Run>& runs, const ListOptions& options,
                     Session& session) {
  if (options.names_only) {
    std::string names;
    for (const v1::Run& run : runs) names += run.name() + "\n";
    return names;
  }
  if (!runs.empty()) return RunTable(runs, session.Now(), session.style());
  session.console().err << (options.all
                                ? NoRunsText(session)
                                : "No unfinished runs.\n" + NextText({session.Hint("list -a")}));
  return "";
}

StatusOr<ExitCode> List(const ListOptions& options, Session& session) {
  if (!options.state.empty() && StateNamed(options.state) == v1::RUN_STATE_UNSPECIFIED) {
    return InvalidArgument("--state {}: no run is ever in that state; see 'gpctl help states'",
                           options.state);
  }
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const auto listed, ListRuns(*client, options, session.NamespaceOfRuns()));
  const bool insecure = session.WarnIfInsecure();
  session.console().out << (session.json() ? ListJson(listed, insecure)
                                           : ListText(listed.runs, options, session));
  if (listed.truncated) {
    session.console().err << fmt::format("Only the newest {} are shown; --limit shows more.\n",
                                         options.limit);
  }
  return ExitCode::kOk;
}

StatusOr<std::vector<v1::RunEvent>> NewestEvents(client::RunClient& client, const v1::Run& run) {
  v1::EventsRequest request;
  request.set_run(run.run_id());
  std::deque<v1::RunEvent> newest;
  RETURN_IF_ERROR(client.Events(request, [&](const v1::RunEvent& event) {
    newest.push_back(event);
    if (newest.size() > kNewestEvents) newest.pop_front();
    return true;
  }));
  return std::vector<v1::RunEvent>(newest.begin(), newest.end());
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
  ASSIGN_OR_RETURN(context.newest_events, NewestEvents(*client, run));
  const std::string next = NextCommand(run);
  if (!next.empty()) context.next = session.Hint(next);
  session.console().out << RunDetails(run, context, session.Now(), session.style());
  return ExitCode::kOk;
}

StatusOr<ExitCode> Why(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  if (session.json()) {
    Json document = Document("Reason");
    document["run_id"] = run.run_id();
    document["name"] = run.name();
    document["state"] = StateName(run.state());
    document["reason"] = run.reason();
    session.console().out << Pretty(document);
    return ExitCode::kOk;
  }
  session.console().out << fmt::format("{} is {}: {}\n", run.name(), StateName(run.state()),
                                       run.reason());
  return ExitCode::kOk;
}

void AddList(CommandSet& commands) {
  const Command command = commands.Add("list", kRunGroup, "Show the runs, newest first");
  command.Alias("ps");
  auto options = std::make_shared<ListOptions>();
  command.Switch("-a,--all", options->all, "finished runs too");
  command.Switch("-q,--quiet", options->names_only, "names only");
  command.Option("-n,--limit", options->limit, "show at most this many").Between(1, 1000000);
  command.Option("--state", options->state, "only runs in this state, such as running or failed");
  commands.Bind(command, [options](Session& session) { return List(*options, session); });
}

void AddStatus(CommandSet& commands) {
  const Command command = commands.Add(
      "status", kRunGroup, "Show one run: state, reason, progress, checkpoint, newest events");
  auto options = std::make_shared<StatusOptions>();
  command.Option("RUN", options->run, kRunHelp).Required();
  command.Switch("--run-file", options->run_file,
                 "print its run file instead, with every key and its value: submitting that trains "
                 "the same");
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
  AddList(commands);
  AddStatus(commands);
  AddWhy(commands);
}

}  // namespace gp::gpctl
