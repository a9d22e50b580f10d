// gpctl workers list, revoke.
#include <memory>

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

// The id of the node that a name or an id means; a node of which only its id is known counts, too.
std::string NodeIdOf(const std::string& reference, const v1::NodesResponse& nodes) {
  for (const v1::Node& node : nodes.nodes()) {
    if (node.name() == reference) return node.node_id();
  }
  return reference;
}

StatusOr<ExitCode> RevokeWorker(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client->Nodes());
  const std::string id = NodeIdOf(reference, nodes);
  RETURN_IF_ERROR(client->RevokeNode(id));
  if (session.json()) {
    session.console().out << OneLine(With("Node", {{"node_id", id}, {"revoked", true}}));
  } else {
    session.console().out << fmt::format(
        "{} is revoked: its certificate does not count any more, and its ranks go elsewhere.\n",
        reference);
  }
  return ExitCode::kOk;
}

}  // namespace

void AddWorkersCommand(CommandSet& commands) {
  const Command noun = commands.Add(
      "workers", kServiceGroup, "Show the nodes, their slots and GPUs, and take certificates back");
  noun.Alias("nodes");
  const Command list =
      commands.AddVerb(noun, "list", "Show each node with its slots and what runs in them");
  commands.Bind(list, [](Session& session) { return ListWorkers(session); });
  const Command revoke = commands.AddVerb(
      noun, "revoke", "Take a node's certificate back; it joins anew with a join token");
  auto node = std::make_shared<std::string>();
  revoke.Option("NODE", *node, "name or id, see 'gpctl workers list'").Required();
  commands.Bind(revoke, [node](Session& session) { return RevokeWorker(*node, session); });
}

}  // namespace gp::gpctl
