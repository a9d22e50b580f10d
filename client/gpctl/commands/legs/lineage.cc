// gpctl lineage.
#include <map>
#include <memory>
#include <set>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/lineage_text.h"

namespace gp::gpctl {
namespace {

constexpr int kPageRuns = 1000;

// All runs that the caller may see, without their run files.
StatusOr<std::vector<v1::Run>> ListAll(client::RunClient& client) {
  std::vector<v1::Run> runs;
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kPageRuns);
  do {
    ASSIGN_OR_RETURN(const v1::ListResponse page, client.List(request));
    runs.insert(runs.end(), page.runs().begin(), page.runs().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return runs;
}

// The ids of the runs that are connected with `run` by forks.
std::set<std::string> RelativesOf(const std::string& run, const std::vector<v1::Run>& runs) {
  std::multimap<std::string, std::string> neighbours;
  for (const v1::Run& one : runs) {
    if (!one.has_parent()) continue;
    neighbours.emplace(one.run_id(), one.parent().run_id());
    neighbours.emplace(one.parent().run_id(), one.run_id());
  }
  std::set<std::string> relatives = {run};
  std::vector<std::string> open = {run};
  while (!open.empty()) {
    const std::string id = open.back();
    open.pop_back();
    const auto [first, end] = neighbours.equal_range(id);
    for (auto next = first; next != end; ++next) {
      if (relatives.insert(next->second).second) open.push_back(next->second);
    }
  }
  return relatives;
}

StatusOr<ExitCode> ShowLineage(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const std::vector<v1::Run> all, ListAll(*client));
  const std::set<std::string> relatives = RelativesOf(run.run_id(), all);
  std::vector<v1::Run> members;
  for (auto one = all.rbegin(); one != all.rend(); ++one) {  // the oldest first
    if (!relatives.contains(one->run_id())) continue;
    ASSIGN_OR_RETURN(v1::Run whole, client->Get(one->run_id()));
    members.push_back(std::move(whole));
  }
  const Lineage lineage(std::move(members), run.run_id());
  session.console().out << (session.json() ? Pretty(With("Lineage", lineage.Fields()))
                                           : lineage.Text(session.utf8()));
  return ExitCode::kOk;
}

}  // namespace

void AddLineageCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "lineage", kRunGroup, "Show the tree of forks and legs that a run belongs to, with changes");
  auto reference = std::make_shared<std::string>();
  command.Option("RUN", *reference, "name, id, unique prefix of an id, or @last").Required();
  commands.Bind(command,
                [reference](Session& session) { return ShowLineage(*reference, session); });
}

}  // namespace gp::gpctl
