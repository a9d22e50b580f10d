// gpctl workers list.
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_json.h"

namespace gp::gpctl {
namespace {

std::string NodesJson(const v1::NodesResponse& response) {
  Json document = Document("NodeList");
  document["items"] = Json::array();
  for (const v1::Node& node : response.nodes()) document["items"].push_back(NodeFields(node));
  return Pretty(document);
}

StatusOr<ExitCode> ListWorkers(Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::NodesResponse response, client->Nodes());
  if (session.json()) {
    session.console().out << NodesJson(response);
  } else if (response.nodes().empty()) {
    session.console().err << fmt::format("No node has joined yet. Start gp-worker on one, or: {}\n",
                                         session.Hint("up"));
  } else {
    session.console().out << NodeTable({response.nodes().begin(), response.nodes().end()},
                                       session.Now(), session.style());
  }
  return ExitCode::kOk;
}

}  // namespace

void AddWorkersCommand(CommandSet& commands) {
  const Command noun =
      commands.Add("workers", kServiceGroup, "Show the nodes, their slots and GPUs");
  noun.Alias("nodes");
  const Command list =
      commands.AddVerb(noun, "list", "Show each node with its slots and what runs in them");
  commands.Bind(list, [](Session& session) { return ListWorkers(session); });
}

}  // namespace gp::gpctl
