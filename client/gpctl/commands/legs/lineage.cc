// gpctl lineage.
#include <memory>
#include <utility>
#include <vector>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/lineage_text.h"

namespace gp::gpctl {
namespace {

StatusOr<ExitCode> ShowLineage(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(std::vector<v1::Run> members, client->Lineage(run.run_id()));
  const Lineage lineage(std::move(members), run.run_id());
  session.console().out << (session.json() ? Pretty(With("Lineage", lineage.Fields()))
                                           : lineage.Text(session.utf8(), session.width()));
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
