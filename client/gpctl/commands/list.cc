// gpctl list.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/text/counted_noun.h"
#include "client/api/label_filter.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/session/age.h"
#include "client/gpctl/terminal/hint.h"
#include "client/gpctl/terminal/number_text.h"
#include "rpc/timestamp.h"

namespace gp::gpctl {
namespace {

constexpr int kPageSize = 100;

struct ListOptions {
  bool all = false;
  bool names_only = false;
  int limit = 50;
  std::vector<std::string> states;
  std::vector<std::string> labels;
  std::string user;
  bool mine = false;
  std::string since;
  std::string search;

  // Whether the options contain filters, which older coordinators do not support.
  bool Filters() const {
    return !states.empty() || !labels.empty() || !user.empty() || mine || !since.empty() ||
           !search.empty();
  }
};

struct ListedRuns {
  std::vector<v1::Run> runs;     // running, waiting, then ended; newest first in each
  bool truncated = false;        // there are more than the limit
  std::optional<int64_t> total;  // number of matching runs; absent: the coordinator sent no count
};

Status AddStates(const ListOptions& options, v1::ListRequest& request) {
  for (const std::string& name : options.states) {
    const v1::RunState state = client::StateNamed(name);
    if (state == v1::RUN_STATE_UNSPECIFIED) {
      return InvalidArgument("--state {}: no run is ever in that state; see 'gpctl help states'",
                             name);
    }
    request.add_states(state);
  }
  return OkStatus();
}

Status AddLabels(const ListOptions& options, v1::ListRequest& request) {
  for (const std::string& label : options.labels) {
    RETURN_IF_ERROR(WithContext(client::AddLabel(label, request), "--label"));
  }
  return OkStatus();
}

Status AddSince(const ListOptions& options, Session& session, v1::ListRequest& request) {
  if (options.since.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const double at, TimeAgo(options.since, session));
  *request.mutable_submitted_since() = rpc::ToTimestamp(static_cast<int64_t>(at * 1e6));
  return OkStatus();
}

StatusOr<v1::ListRequest> ListRequestOf(const ListOptions& options, Session& session) {
  if (options.mine && !options.user.empty()) {
    return InvalidArgument("--mine and --user {} exclude each other", options.user);
  }
  v1::ListRequest request;
  request.set_include_finished(options.all);
  request.set_namespace_(session.NamespaceOfRuns());
  request.set_submitted_by(options.mine ? "@me" : options.user);
  request.set_search(options.search);
  RETURN_IF_ERROR(AddStates(options, request));
  RETURN_IF_ERROR(AddLabels(options, request));
  RETURN_IF_ERROR(AddSince(options, session, request));
  return request;
}

Status CheckFilters(const v1::ListResponse& page, const ListOptions& options,
                    const client::RunClient& client) {
  if (!options.Filters() || page.runs().empty() || !page.state_counts().empty()) return OkStatus();
  return FailedPrecondition(
      "the coordinator at {} is older than this gpctl and cannot filter runs; upgrade it, or leave "
      "out the filters",
      client.address());
}

StatusOr<ListedRuns> ListRuns(client::RunClient& client, const ListOptions& options,
                              v1::ListRequest request) {
  ListedRuns listed;
  const auto limit = static_cast<size_t>(options.limit);
  do {
    request.set_limit(static_cast<int>(std::min<size_t>(kPageSize, limit - listed.runs.size())));
    ASSIGN_OR_RETURN(const v1::ListResponse page, client.List(request));
    RETURN_IF_ERROR(CheckFilters(page, options, client));
    listed.runs.insert(listed.runs.end(), page.runs().begin(), page.runs().end());
    if (page.has_total()) listed.total = page.total();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && listed.runs.size() < limit);
  listed.truncated = !request.page_token().empty();
  return listed;
}

std::string ListJson(const ListedRuns& listed, bool insecure) {
  Json document = Document("RunList");
  document["insecure"] = insecure;
  document["truncated"] = listed.truncated;
  if (listed.total) document["total"] = *listed.total;
  document["items"] = Json::array();
  for (const v1::Run& run : listed.runs) document["items"].push_back(RunFields(run));
  return Pretty(document);
}

// A warning for a list without runs: the storage holds runs, so gp.db may have been lost. Empty if
// the storage holds none or cannot be read here, or if the list was for one namespace.
std::string UnknownRunsText(const Session& session) {
  if (!session.NamespaceOfRuns().empty()) return "";
  const auto service = session.Service();
  if (!service.ok() || service->state_dir.empty()) return "";
  const auto record = ServiceDirectory(service->state_dir).Load();
  if (!record.ok()) return "";
  const std::string runs = JoinPath(record->storage_root, "runs");
  const auto names = ListDirectory(runs);
  if (!names.ok()) return "";
  // Without its run file it is a deleted run, of which at most checkpoints were kept.
  const auto unknown = std::count_if(names->begin(), names->end(), [&](const std::string& name) {
    return FileExists(JoinPath(JoinPath(runs, name), "run.yaml"));
  });
  if (unknown == 0) return "";
  return fmt::format(
      "Its storage {} holds {} missing from this coordinator's state; if {} was lost, "
      "restore it "
      "from a backup.\n",
      record->storage_root, CountedNoun(unknown, "run"),
      JoinPath(service->state_dir, "coordinator/gp.db"));
}

std::string NoRunsText(const ListOptions& options, const Session& session) {
  if (options.Filters()) {
    const bool ended_too = options.all || !options.states.empty();
    return ended_too ? "No runs match.\n"
                     : "No unfinished runs match; -a shows finished ones too.\n";
  }
  if (!options.all) return "No unfinished runs.\n" + NextText({session.Hint("list -a")});
  const std::string file = FreeRunFileName(session.console());
  const std::string unknown = UnknownRunsText(session);
  if (!unknown.empty()) return "There are no runs.\n" + unknown;
  const std::string name = session.NamespaceOfRuns();
  return (name.empty() ? "There are no runs yet.\n"
                       : fmt::format("There are no runs in namespace {} yet.\n", name)) +
         NextText({session.Hint("init " + file), session.Hint("submit " + file + " --wait")});
}

// The runs' names, one per line, in a form that other commands accept as RUN.
std::string NamesText(const std::vector<v1::Run>& runs) {
  const bool several = AreOfSeveralNamespaces(runs);
  std::string names;
  for (const v1::Run& run : runs) {
    names += (several ? run.namespace_() + "/" : "") + run.name() + "\n";
  }
  return names;
}

std::string ListText(const std::vector<v1::Run>& runs, const ListOptions& options,
                     Session& session) {
  if (options.names_only) return NamesText(runs);
  if (!runs.empty()) return RunTable(runs, session.Now(), session.style());
  session.console().err << NoRunsText(options, session);
  return "";
}

std::string TruncatedText(const ListedRuns& listed) {
  const std::string shown = WithThousands(static_cast<int64_t>(listed.runs.size()));
  if (!listed.total) return fmt::format("The first {} are shown; --limit shows more.\n", shown);
  return fmt::format("Showing {} of {} runs; --limit shows more.\n", shown,
                     WithThousands(*listed.total));
}

StatusOr<ExitCode> List(const ListOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::ListRequest request, ListRequestOf(options, session));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const auto listed, ListRuns(*client, options, request));
  const bool insecure = session.WarnIfInsecure();
  session.console().out << (session.json() ? ListJson(listed, insecure)
                                           : ListText(listed.runs, options, session));
  if (listed.truncated) session.console().err << TruncatedText(listed);
  return ExitCode::kOk;
}

}  // namespace

void AddListCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "list", kRunGroup, "Show runs: running ones, then waiting ones; with -a finished ones, too");
  command.Alias("ps");
  auto options = std::make_shared<ListOptions>();
  command.Switch("-a,--all", options->all, "finished runs too");
  command.Switch("-q,--quiet", options->names_only, "names only");
  command.Option("-n,--limit", options->limit, "show at most this many").Between(1, 1000000);
  command.Option("--state", options->states,
                 "only runs in this state, such as running or failed; may be repeated");
  command.Option("--label", options->labels,
                 "only runs with this label, KEY=VALUE; if given several times, with all of them");
  command.Option("--user", options->user, "only runs that this user submitted").NotEmpty();
  command.Switch("--mine", options->mine, "only runs that you submitted");
  command.Option("--since", options->since,
                 "only runs submitted at most this long ago, such as 90m, 12h or 7d");
  command.Option("--search", options->search,
                 "only runs with this text in the name, or at the beginning of the id");
  commands.Bind(command, [options](Session& session) { return List(*options, session); });
}

}  // namespace gp::gpctl
