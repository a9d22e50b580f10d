#include "coordinator/notifications/target_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

std::string ProblemsOf(const std::string& text) {
  ConfigProblems problems;
  ParseTargets(text, "targets.yaml", problems);
  return RenderProblems(problems.Take());
}

TEST(TargetFile, ReadsEveryKey) {
  ConfigProblems problems;
  const NotificationTargets targets = ParseTargets(R"(apiVersion: gp/v1
waiting_longer_than: 2h
targets:
  - name: ops
    kind: webhook
    url: http://10.0.0.7/gp
    secret_file: ops.secret
    events: [failed, new_best]
    namespaces: [research, default]
    runs: named
    allow_private_addresses: true
  - {name: chat, kind: slack, url_file: /etc/gp/chat.url}
)",
                                                   "/etc/gp/targets.yaml", problems);
  EXPECT_EQ(RenderProblems(problems.Take()), "");
  EXPECT_EQ(targets.waiting_longer_than, std::chrono::hours(2));
  ASSERT_EQ(targets.targets.size(), 2u);
  const NotificationTarget& ops = targets.targets[0];
  EXPECT_EQ(ops.name, "ops");
  EXPECT_EQ(ops.kind, TargetKind::kWebhook);
  EXPECT_EQ(ops.url, "http://10.0.0.7/gp");
  EXPECT_EQ(ops.secret_file, "/etc/gp/ops.secret");
  EXPECT_EQ(ops.events, (std::set{Occasion::kFailed, Occasion::kNewBest}));
  EXPECT_EQ(ops.namespaces, (std::set<std::string>{"default", "research"}));
  EXPECT_EQ(ops.runs, TargetRuns::kNamed);
  EXPECT_TRUE(ops.allow_private_addresses);
  const NotificationTarget& chat = targets.targets[1];
  EXPECT_EQ(chat.kind, TargetKind::kSlack);
  EXPECT_EQ(chat.url_file, "/etc/gp/chat.url");
  EXPECT_EQ(chat.events.size(), OccasionNames().size());
  EXPECT_EQ(chat.runs, TargetRuns::kAll);
  EXPECT_FALSE(chat.allow_private_addresses);
}

TEST(TargetFile, ReportsEveryProblemWithItsPlace) {
  const std::string problems = ProblemsOf(R"(apiVersion: gp/v1
targets:
  - name: Ops
    kind: webhok
    url: http://example.com/x
    urls: 1
    events: [failed, finish]
    namespaces: ["A B"]
    runs: some
  - {name: chat, kind: slack, url: https://a/, url_file: b, secret_file: c}
  - {name: chat, kind: slack, url: https://a/}
)");
  EXPECT_THAT(problems, HasSubstr("targets.yaml:3:11: a target needs a name of 1 to 63"));
  EXPECT_THAT(problems, HasSubstr("targets.yaml:4:11: kind must be one of: webhook, slack"));
  EXPECT_THAT(problems, HasSubstr("did you mean 'webhook'?"));
  EXPECT_THAT(problems, HasSubstr("targets.yaml:5:10: the URL must begin with https://"));
  EXPECT_THAT(problems, HasSubstr("targets.yaml:6:5: unknown key 'urls'"));
  EXPECT_THAT(problems, HasSubstr("targets.yaml:7:22: 'finish' is not an event"));
  EXPECT_THAT(problems, HasSubstr("did you mean 'finished'?"));
  EXPECT_THAT(problems, HasSubstr("targets.yaml:8:18: 'A B' is not the name of a namespace"));
  EXPECT_THAT(problems, HasSubstr("targets.yaml:9:11: runs must be one of: all, named"));
  EXPECT_THAT(problems, HasSubstr("a webhook needs secret_file"));
  EXPECT_THAT(problems, HasSubstr("a target needs either url, or url_file"));
  EXPECT_THAT(problems, HasSubstr("Slack checks no signature; remove secret_file"));
  EXPECT_THAT(problems, HasSubstr("two targets have the name 'chat'"));
}

TEST(TargetFile, RefusesFilesWithoutTargetsAndWithTooMany) {
  EXPECT_THAT(ProblemsOf(""), HasSubstr("the file names no target"));
  EXPECT_THAT(ProblemsOf("targets: {}"), HasSubstr("targets must be a list, not a map"));
  std::string many = "targets:\n";
  for (int i = 0; i < 33; ++i) many += "  - {name: a}\n";
  EXPECT_THAT(ProblemsOf(many), HasSubstr("33 targets; at most 32 are allowed"));
  EXPECT_THAT(ProblemsOf("waiting_longer_than: 0s\ntargets: [x]"),
              HasSubstr("waiting_longer_than must be a duration"));
}

TEST(TargetFile, ChecksThatTheSecretsCanBeRead) {
  const TemporaryDirectory directory;
  const std::string file = directory.Write(
      "targets.yaml", "targets: [{name: a, url: https://a/, secret_file: a.secret}]\n");
  EXPECT_THAT(gp::Message(ReadTargets(file).status()), HasSubstr("target 'a': secret_file: "));
  ASSERT_EQ(chmod(directory.Write("a.secret", "0123456789abcdef").c_str(), 0600), 0);
  EXPECT_EQ(ReadTargets(file).value().targets.size(), 1u);
  EXPECT_THAT(gp::Message(ReadTargets(directory.File("absent")).status()),
              HasSubstr("notifications.targets_file"));
}

}  // namespace
}  // namespace gp::coordinator
