#include "client/gpctl/commands/service/drain.h"

#include <map>

#include "base/clock.h"
#include "base/duration.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_words.h"

namespace gp::gpctl {
namespace {

constexpr std::chrono::milliseconds kPoll{300};

// Prints the states of the runs that are on a node, or were there since the drain began.
class DrainFeed {
 public:
  DrainFeed(client::RunClient& client, Session& session) : client_(client), session_(session) {}

  // Prints a line for each run whose state has changed. Prints nothing with -o json.
  Status Tell(const v1::Node& node) {
    if (session_.json()) return OkStatus();
    for (const v1::Slot& slot : node.slots()) {
      if (!slot.run_id().empty()) runs_.emplace(slot.run_id(), "");
    }
    for (auto& [id, told] : runs_) {
      ASSIGN_OR_RETURN(const v1::Run run, client_.Get(id));
      std::string text = fmt::format("  {} ({}) is {}: {}\n", run.name(), id,
                                     client::StateName(run.state()), run.reason());
      if (text == told) continue;
      session_.console().out << text << std::flush;
      told = std::move(text);
    }
    return OkStatus();
  }

 private:
  client::RunClient& client_;
  Session& session_;
  std::map<std::string, std::string> runs_;  // the last line printed for each
};

StatusOr<v1::Node> FindNode(client::RunClient& client, const std::string& id) {
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client.Nodes());
  for (const v1::Node& node : nodes.nodes()) {
    if (node.node_id() == id) return node;
  }
  // Not listed: the node was uncordoned, and has not connected since the coordinator started.
  return v1::Node();
}

Status TooLong(const v1::Node& node, const DrainOptions& options) {
  return DeadlineExceeded(
      "{} on node {} after {}; the drain continues, and nothing new is placed there; 'gpctl "
      "workers list' shows what is left",
      BusyText(node), node.name(), options.longest);
}

Status Opened(const std::string& name) {
  return FailedPrecondition(
      "node {} is no longer draining: it was opened with 'gpctl workers uncordon'", name);
}

ExitCode SayInterrupted(const std::string& name, Session& session) {
  session.console().err << fmt::format("The drain of {} continues.   See: {}   End it: {}\n", name,
                                       session.Hint("workers list"),
                                       session.Hint("workers uncordon " + name));
  return ExitCode::kInterrupted;
}

ExitCode SayDrained(const v1::Node& node, Session& session) {
  if (session.json()) {
    session.console().PrintChange(Pretty(With("Node", NodeFields(node))));
    return ExitCode::kOk;
  }
  const std::string outcome =
      node.connected()
          ? fmt::format("Nothing runs on {} any more.", node.name())
          : fmt::format(
                "No run is on {}; it is not connected, so the state of its trainers is unknown.",
                node.name());
  session.console().PrintChange(fmt::format("{}   Open it again: {}\n", outcome,
                                            session.Hint("workers uncordon " + node.name())));
  return ExitCode::kOk;
}

// Waits until nothing runs on the node, and reports its runs meanwhile.
StatusOr<ExitCode> Follow(v1::Node node, const DrainOptions& options,
                          std::chrono::nanoseconds longest, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  const std::string name = node.name();
  const std::string id = node.node_id();
  const MonotonicTime deadline = SystemClock().Now() + longest;
  DrainFeed feed(*client, session);
  while (true) {
    RETURN_IF_ERROR(feed.Tell(node));
    if (!node.cordon().drain()) return Opened(name);
    if (node.busy_slots() == 0) return SayDrained(node, session);
    if (SystemClock().Now() >= deadline) return TooLong(node, options);
    if (session.console().interruption.WaitFor(kPoll)) return Cancelled("interrupted");
    ASSIGN_OR_RETURN(node, FindNode(*client, id));
  }
}

}  // namespace

StatusOr<ExitCode> Drain(const DrainOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const std::chrono::nanoseconds longest, ParseDuration(options.longest));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Node node, client->Drain(options.node, options.reason));
  if (!session.json()) session.console().PrintChange(CordonLine(node, session.Now()));
  const StatusOr<ExitCode> end = Follow(node, options, longest, session);
  const bool interrupted = !end.ok() && session.console().interruption.requested();
  return interrupted ? SayInterrupted(node.name(), session) : end;
}

}  // namespace gp::gpctl
