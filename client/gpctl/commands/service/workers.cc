// gpctl workers list, cordon, drain, uncordon, revoke.
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/service/drain.h"
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
    session.console().out << NodeTable(response, session.Now(), session.style());
  }
  return ExitCode::kOk;
}

// The id of the node with this name; otherwise `reference` itself, which may be the id of a node
// that is not listed.
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
  session.console().PrintChange(session.json()
                                    ? OneLine(With("Node", {{"node_id", id}, {"revoked", true}}))
                                    : fmt::format("{} is revoked: its certificate is no longer "
                                                  "accepted, and its ranks move to other nodes.\n",
                                                  reference));
  return ExitCode::kOk;
}

ExitCode ShowChanged(const v1::Node& node, Session& session) {
  session.console().PrintChange(session.json() ? OneLine(With("Node", NodeFields(node)))
                                               : CordonLine(node, session.Now()));
  return ExitCode::kOk;
}

StatusOr<ExitCode> CordonWorker(const DrainOptions& options, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Node node, client->Cordon(options.node, options.reason));
  return ShowChanged(node, session);
}

StatusOr<ExitCode> UncordonWorker(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Node node, client->Uncordon(reference));
  return ShowChanged(node, session);
}

constexpr const char* kNodeHelp = "name or id, see 'gpctl workers list'";
constexpr const char* kReasonHelp =
    "shown to users: in the reasons of waiting runs and in the list";

void AddCordonVerbs(Command noun, CommandSet& commands) {
  const Command cordon =
      commands.AddVerb(noun, "cordon", "Stop placing runs on a node; those running there continue");
  auto closed = std::make_shared<DrainOptions>();
  cordon.Option("NODE", closed->node, kNodeHelp).Required();
  cordon.Option("--reason", closed->reason, kReasonHelp);
  commands.Bind(cordon, [closed](Session& session) { return CordonWorker(*closed, session); });

  const Command drain = commands.AddVerb(
      noun, "drain", "Cordon a node and move its runs: they save, leave and continue elsewhere");
  auto drained = std::make_shared<DrainOptions>();
  drain.Option("NODE", drained->node, kNodeHelp).Required();
  drain.Option("--reason", drained->reason, kReasonHelp);
  drain.Option("--longest", drained->longest,
               "stop waiting after this time (default 10m; exit code 6); the drain continues");
  commands.Bind(drain, [drained](Session& session) { return Drain(*drained, session); });

  const Command uncordon =
      commands.AddVerb(noun, "uncordon", "Open a node again after a cordon or a drain");
  auto opened = std::make_shared<std::string>();
  uncordon.Option("NODE", *opened, kNodeHelp).Required();
  commands.Bind(uncordon, [opened](Session& session) { return UncordonWorker(*opened, session); });
}

}  // namespace

void AddWorkersCommand(CommandSet& commands) {
  const Command noun =
      commands.Add("workers", kServiceGroup,
                   "Show nodes, slots and GPUs; cordon nodes and revoke their certificates");
  noun.Alias("nodes");
  const Command list =
      commands.AddVerb(noun, "list", "Show each node with its slots and what runs in them");
  commands.Bind(list, [](Session& session) { return ListWorkers(session); });
  AddCordonVerbs(noun, commands);
  const Command revoke = commands.AddVerb(
      noun, "revoke", "Revoke a node's certificate; it must join again with a join token");
  auto node = std::make_shared<std::string>();
  revoke.Option("NODE", *node, kNodeHelp).Required();
  commands.Bind(revoke, [node](Session& session) { return RevokeWorker(*node, session); });
}

}  // namespace gp::gpctl
