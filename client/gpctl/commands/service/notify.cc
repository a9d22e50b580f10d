// gpctl notify list, test.
#include <google/protobuf/util/time_util.h>

#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

using google::protobuf::util::TimeUtil;

template <typename Texts>
std::string Joined(const Texts& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

Json TargetFields(const v1::NotificationTarget& target) {
  Json json = {{"name", target.name()},
               {"kind", target.kind()},
               {"events", target.events()},
               {"namespaces", target.namespaces()},
               {"runs", target.runs()},
               {"queued", target.queued()},
               {"dropped", target.dropped()},
               {"sent", target.sent()},
               {"failures_in_a_row", target.failures_in_a_row()}};
  if (target.has_oldest_at()) json["oldest_at"] = TimeUtil::ToString(target.oldest_at());
  if (target.has_last_sent_at()) json["last_sent_at"] = TimeUtil::ToString(target.last_sent_at());
  if (!target.has_last_error_at()) return json;
  json["last_error"] = target.last_error();
  json["last_error_at"] = TimeUtil::ToString(target.last_error_at());
  return json;
}

std::string LastErrorText(const v1::NotificationTarget& target, double now) {
  if (!target.has_last_error_at()) return "none";
  const auto at = static_cast<double>(target.last_error_at().seconds());
  return fmt::format("{}: {}", AgoText(now - at), target.last_error());
}

std::string TargetTable(const v1::ListNotificationTargetsResponse& listed, Session& session) {
  Table table({{.title = "TARGET"},
               {.title = "KIND", .rank = 3},
               {.title = "EVENTS", .rank = 5},
               {.title = "NAMESPACES", .rank = 4},
               {.title = "RUNS", .rank = 6},
               {.title = "QUEUED", .align = Align::kRight},
               {.title = "OLDEST", .rank = 2},
               {.title = "DROPPED", .align = Align::kRight, .rank = 1},
               {.title = "SENT", .align = Align::kRight, .rank = 2},
               {.title = "LAST ERROR", .shorten = true}});
  for (const v1::NotificationTarget& target : listed.targets()) {
    const auto oldest = static_cast<double>(target.oldest_at().seconds());
    table.AddRow({target.name(), target.kind(), Joined(target.events()),
                  target.namespaces().empty() ? "all" : Joined(target.namespaces()), target.runs(),
                  fmt::format("{}", target.queued()),
                  target.has_oldest_at() ? AgoText(session.Now() - oldest) : "-",
                  fmt::format("{}", target.dropped()), fmt::format("{}", target.sent()),
                  LastErrorText(target, session.Now())});
  }
  return table.Render(session.width(), session.utf8());
}

StatusOr<ExitCode> ListTargets(Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::ListNotificationTargetsResponse listed, client->NotificationTargets());
  if (session.json()) {
    Json document = Document("NotificationTargetList");
    document["items"] = Json::array();
    for (const auto& target : listed.targets()) document["items"].push_back(TargetFields(target));
    session.console().out << Pretty(document);
  } else if (listed.targets().empty()) {
    session.console().err << "No notification targets are configured. Name a file of them with the "
                             "coordinator's setting notifications.targets_file.\n";
  } else {
    session.console().out << TargetTable(listed, session);
  }
  return ExitCode::kOk;
}

std::string TestText(const std::string& target, const v1::TestNotificationTargetResponse& tested) {
  if (tested.status() == 0) return fmt::format("{}: not sent: {}\n", target, tested.answer());
  return fmt::format("{}: the receiver {} ({}){}{}\n", target,
                     tested.accepted() ? "accepted the test" : "did not accept the test",
                     tested.status(), tested.answer().empty() ? "" : ": ", tested.answer());
}

StatusOr<ExitCode> TestTarget(const std::string& target, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::TestNotificationTargetResponse tested,
                   client->TestNotificationTarget(target));
  session.console().PrintChange(
      session.json() ? OneLine(With("NotificationTest", {{"target", target},
                                                         {"accepted", tested.accepted()},
                                                         {"status", tested.status()},
                                                         {"answer", tested.answer()}}))
                     : TestText(target, tested));
  return tested.accepted() ? ExitCode::kOk : ExitCode::kFailure;
}

}  // namespace

void AddNotifyCommands(CommandSet& commands) {
  const Command noun =
      commands.Add("notify", kOtherGroup, "Show and test the targets that are notified of runs");
  const Command list = commands.AddVerb(
      noun, "list", "Show the targets, what waits to be sent, and the last errors");
  commands.Bind(list, [](Session& session) { return ListTargets(session); });
  const Command test =
      commands.AddVerb(noun, "test", "Send a test to a target now and print the answer");
  auto target = std::make_shared<std::string>();
  test.Option("TARGET", *target, "name from 'gpctl notify list'").Required();
  commands.Bind(test, [target](Session& session) { return TestTarget(*target, session); });
}

}  // namespace gp::gpctl
