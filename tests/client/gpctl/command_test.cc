// Every command through RunGpctl, against a fake coordinator: exit codes and output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  Outcome Run(const std::vector<std::string>& arguments) { return gpctl_.Run(arguments); }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(CommandTest, ListShowsUnfinishedRunsAndWithAllTheOthersToo) {
  service_.AddRun(MakeRun("old", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  service_.AddRun(MakeRun("new", "aaaaaaaa02", v1::RUN_STATE_RUNNING));
  const Outcome some = Run({"list"});
  EXPECT_EQ(some.code, 0);
  EXPECT_THAT(some.out, HasSubstr("new"));
  EXPECT_THAT(some.out, Not(HasSubstr("old")));
  const Outcome all = Run({"ps", "-a"});
  EXPECT_THAT(all.out, HasSubstr("old"));
  EXPECT_EQ(Run({"list", "-a", "-q"}).out, "new\nold\n");
  EXPECT_EQ(Run({"list", "--state", "succeeded", "-q"}).out, "old\n");
  EXPECT_EQ(Run({"list", "--state", "sleeping"}).code, 2);
}

TEST_F(CommandTest, NamesOfSeveralNamespacesAreWhole) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  EXPECT_EQ(Run({"list", "-q"}).out, "a\n");
  v1::Run other = MakeRun("a", "aaaaaaaa02", v1::RUN_STATE_RUNNING);
  other.set_namespace_("research");
  service_.AddRun(other);
  EXPECT_THAT(Run({"list", "-q"}).out, AllOf(HasSubstr("default/a\n"), HasSubstr("research/a\n")));
}

TEST_F(CommandTest, ListAsJsonIsOneDocument) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  const json document = json::parse(Run({"-o", "json", "list"}).out);
  EXPECT_EQ(document["apiVersion"], "gp/v1");
  EXPECT_EQ(document["kind"], "RunList");
  EXPECT_EQ(document["items"][0]["name"], "a");
  EXPECT_EQ(document["items"][0]["progress"]["step"], 500);
}

TEST_F(CommandTest, ACoordinatorThatServesAPortWithoutTlsIsWarnedOfOnTheErrorStreamAlone) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  const Outcome quiet = Run({"list"});
  EXPECT_THAT(quiet.err, Not(HasSubstr("--insecure")));
  EXPECT_FALSE(json::parse(Run({"list", "-o", "json"}).out)["insecure"].get<bool>());
  service_.SetInsecure();
  EXPECT_EQ(Run({"list"}).out, quiet.out);
  for (const auto& command : std::vector<std::vector<std::string>>{{"list"}, {"status", "a"}}) {
    const Outcome text = Run(command);
    EXPECT_THAT(text.err, HasSubstr("warning: the coordinator at " + service_.address()));
    EXPECT_THAT(text.err, HasSubstr("--insecure"));
    EXPECT_THAT(text.out, Not(HasSubstr("--insecure")));
    std::vector<std::string> as_json = command;
    as_json.insert(as_json.end(), {"-o", "json"});
    EXPECT_TRUE(json::parse(Run(as_json).out)["insecure"].get<bool>()) << command[0];
  }
}

// Words after `bench` go to gp-bench, even if gpctl has a command of that name, such as `list`.
TEST_F(CommandTest, BenchPassesEveryWordOn) {
  const std::string program = JoinPath(gpctl_.home(), "gp-bench");
  ASSERT_TRUE(WriteFileAtomically(program, "#!/bin/sh\necho \"$@\"\n", 0755).ok());
  EXPECT_EQ(Run({"bench", "sample", "--model", "tiny"}).out, "sample --model tiny\n");
  EXPECT_EQ(Run({"bench", "step", "list"}).out, "step list\n");
}

TEST_F(CommandTest, ListSaysWhenThereAreMoreRunsThanItShows) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.AddRun(MakeRun("b", "aaaaaaaa02", v1::RUN_STATE_RUNNING));
  EXPECT_EQ(json::parse(Run({"-o", "json", "list"}).out)["truncated"], false);
  EXPECT_EQ(json::parse(Run({"-o", "json", "list", "-n", "1"}).out)["truncated"], true);
  EXPECT_EQ(json::parse(Run({"-o", "json", "list", "-n", "1"}).out)["total"], 2);
  EXPECT_EQ(Run({"list", "-n", "1"}).err, "Showing 1 of 2 runs; --limit shows more.\n");
  EXPECT_EQ(Run({"list", "-n", "2"}).err, "");
  EXPECT_EQ(Run({"list", "--search", "a", "-n", "1"}).err, "");
}

TEST_F(CommandTest, ListShowsWhatRunsOverAnyNumberOfRunsThatWait) {
  service_.AddRun(MakeRun("busy", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  for (int i = 0; i < 1234; ++i) {
    service_.AddRun(
        MakeRun(fmt::format("sweep-{}", i), fmt::format("b{:09}", i), v1::RUN_STATE_QUEUED));
  }
  const Outcome some = Run({"list", "-q"});
  EXPECT_THAT(some.out, StartsWith("busy\nsweep-1233\n"));
  EXPECT_EQ(some.err, "Showing 50 of 1,235 runs; --limit shows more.\n");
  const json many = json::parse(Run({"list", "-n", "1230", "-o", "json"}).out);
  EXPECT_EQ(many["items"].size(), 1230u);
  EXPECT_EQ(many["total"], 1235);
  EXPECT_EQ(json::parse(Run({"list", "-n", "5000", "-o", "json"}).out)["items"].size(), 1235u);
}

TEST_F(CommandTest, ListFiltersByStatesLabelsUserTimeAndText) {
  const auto add = [&](const std::string& name, v1::RunState state, const std::string& user,
                       const std::string& team) {
    auto run = MakeRun(name, "id-of-" + name, state);
    run.set_submitted_by("user " + user);
    (*run.mutable_labels())["team"] = team;
    service_.AddRun(run);
  };
  add("a1", v1::RUN_STATE_RUNNING, "ann", "x");
  add("a2", v1::RUN_STATE_FAILED, "ann", "y");
  add("b1", v1::RUN_STATE_QUEUED, "bob", "x");
  add("b2", v1::RUN_STATE_SUCCEEDED, "bob", "x=y");
  EXPECT_EQ(Run({"list", "-q", "--state", "failed", "--state", "queued"}).out, "b1\na2\n");
  EXPECT_EQ(Run({"list", "-q", "--user", "ann"}).out, "a1\n");
  EXPECT_EQ(Run({"list", "-q", "-a", "--user", "ann"}).out, "a1\na2\n");
  EXPECT_EQ(Run({"list", "-q", "-a", "--label", "team=x"}).out, "a1\nb1\n");
  EXPECT_EQ(Run({"list", "-q", "-a", "--label", "team=x=y"}).out, "b2\n");
  EXPECT_EQ(Run({"list", "-q", "-a", "--search", "2"}).out, "b2\na2\n");
  EXPECT_THAT(Run({"list", "--since", "1h"}).err, HasSubstr("No unfinished runs match"));
  const auto ago = service_.last_list().submitted_since().seconds();
  EXPECT_NEAR(static_cast<double>(ago),
              std::chrono::duration<double>(service_.now().time_since_epoch()).count() - 3600, 600);
  EXPECT_EQ(Run({"list", "-q", "-a", "--since", "100000d"}).out, "a1\nb1\nb2\na2\n");
  EXPECT_EQ(Run({"list", "-a", "--search", "nobody"}).err, "No runs match.\n");
  Run({"list", "--mine"});
  EXPECT_EQ(service_.last_list().submitted_by(), "@me");
}

TEST_F(CommandTest, FiltersThatCannotBeReadAreRefusedWithWhatIsExpected) {
  EXPECT_THAT(Run({"list", "--label", "team"}).err, HasSubstr("expected KEY=VALUE"));
  EXPECT_EQ(Run({"list", "--label", "=x"}).code, 2);
  EXPECT_THAT(Run({"list", "--label", "team=a", "--label", "team=b"}).err,
              HasSubstr("a run has one value of 'team', but two were given: 'a' and 'b'"));
  EXPECT_EQ(Run({"list", "--label", "team=a", "--label", "team=a"}).code, 0);
  EXPECT_THAT(Run({"list", "--search", "\xff"}).err, HasSubstr("search is not UTF-8: '?'"));
  EXPECT_THAT(Run({"list", "--label", "k=\xff"}).err, HasSubstr("labels: value is not UTF-8"));
  EXPECT_THAT(Run({"status", "\xff"}).err, HasSubstr("run is not UTF-8: '?'"));
  EXPECT_THAT(Run({"list", "--since", "yesterday"}).err, HasSubstr("--since yesterday"));
  EXPECT_EQ(Run({"list", "--since", "-5m"}).code, 2);
  EXPECT_EQ(Run({"list", "--mine", "--user", "ann"}).code, 2);
  EXPECT_EQ(Run({"list", "--state", "running", "--state", "asleep"}).code, 2);
}

TEST_F(CommandTest, AnOlderCoordinatorThatCannotFilterIsSaid) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.SetWithoutFilters();
  EXPECT_EQ(Run({"list", "-q"}).out, "a\n");
  const Outcome filtered = Run({"list", "-q", "--search", "b"});
  EXPECT_NE(filtered.code, 0);
  EXPECT_EQ(filtered.out, "");
  EXPECT_THAT(filtered.err, HasSubstr("is older than this gpctl and cannot filter runs"));
}

TEST_F(CommandTest, StatusTellsWhyARunFailed) {
  auto run = MakeRun("lr-sweep", "aaaaaaaa01", v1::RUN_STATE_FAILED);
  run.set_reason("data: /x/y.txt does not exist; set data.text");
  service_.AddRun(run);
  service_.AddEvent(v1::RUN_STATE_FAILED, "rank_failed", "rank 0 exited with 2");
  const Outcome outcome = Run({"status", "@last"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED"));
  EXPECT_THAT(outcome.out, HasSubstr("/x/y.txt does not exist"));
  EXPECT_THAT(outcome.out, HasSubstr("rank 0 exited with 2"));
  EXPECT_THAT(outcome.out, HasSubstr("gpctl logs lr-sweep"));
  EXPECT_THAT(outcome.out, HasSubstr("  connection  Unix socket of this machine"));
  EXPECT_EQ(json::parse(Run({"status", "@last", "-o", "json"}).out)["connection"], "unix");
}

TEST_F(CommandTest, AMissingRunIsNotFoundWithTheNearestName) {
  service_.AddRun(MakeRun("shakespeare", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  const Outcome outcome = Run({"status", "shakespear"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'shakespeare'?"));
  EXPECT_EQ(Run({"why", "ambiguous"}).code, 3);
}

TEST_F(CommandTest, ARunMayBeCalledLikeACommand) {
  service_.AddRun(MakeRun("list", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  EXPECT_THAT(Run({"why", "list"}).out, StartsWith("list is running"));
}

TEST_F(CommandTest, LogsAreFilteredByRankAndTail) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  service_.AddLine("zero one", 0);
  service_.AddLine("one one", 1);
  service_.AddLine("zero two", 0);
  EXPECT_EQ(Run({"logs", "a", "--rank", "0"}).out, "zero one\nzero two\n");
  EXPECT_EQ(Run({"logs", "a", "--tail", "1"}).out, "rank 0 zero two\n");
  EXPECT_EQ(Run({"logs", "a", "--rank", "x"}).code, 2);
}

TEST_F(CommandTest, LogLinesCannotMoveTheCursor) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  service_.AddLine("\x1b[2Jgone\rover");
  EXPECT_THAT(Run({"logs", "a"}).out, Not(HasSubstr("\x1b")));
}

TEST_F(CommandTest, AStreamThatBreaksResumesWithoutGapOrDuplicate) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  for (int i = 0; i < 5; ++i) service_.AddLine(std::to_string(i));
  service_.BreakStreamAfter(3);
  EXPECT_EQ(Run({"logs", "a", "--rank", "0"}).out, "0\n1\n2\n3\n4\n");
}

TEST_F(CommandTest, MetricsAsJsonAreOneObjectAStep) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  v1::MetricPoint point;
  point.set_step(1);
  point.set_loss(4.25);
  service_.AddPoint(point);
  point.set_step(2);
  point.set_validation_loss(4.5);
  service_.AddPoint(point);
  std::istringstream lines(Run({"metrics", "a", "-o", "json"}).out);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(json::parse(first)["loss"], 4.25);
  EXPECT_FALSE(json::parse(first).contains("val_loss"));
  EXPECT_EQ(json::parse(second)["val_loss"], 4.5);
  for (const char* key :
       {"tokens", "lr", "grad_norm", "tokens_per_second", "mfu", "step_seconds"}) {
    EXPECT_TRUE(json::parse(first).contains(key)) << key;
  }
}

TEST_F(CommandTest, MetricsAsCsvHaveTitles) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  v1::MetricPoint point;
  point.set_step(1);
  point.set_tokens(64);
  point.set_loss(4.25);
  service_.AddPoint(point);
  const Outcome outcome = Run({"metrics", "a", "--format", "csv"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("step,tokens,loss,"));
  EXPECT_THAT(outcome.out, HasSubstr("\n1,64,4.25,"));
  EXPECT_EQ(Run({"metrics", "a", "--format", "json"}).out, Run({"metrics", "a", "-o", "json"}).out);
  EXPECT_EQ(Run({"metrics", "a", "--format", "csv", "-o", "json"}).code, 2);
  EXPECT_EQ(Run({"metrics", "a", "--format", "xml"}).code, 2);
}

TEST_F(CommandTest, MetricsAsCsvNameAScoreWithoutAColumn) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  v1::MetricPoint point;
  for (int step = 1; step <= 2; ++step) {
    point.set_step(step);
    auto& score = *point.add_scores();
    score.set_name(step == 1 ? "val_bpb" : "new/harness/acc");
    score.set_value(0.5);
    service_.AddPoint(point);
  }
  const Outcome outcome = Run({"metrics", "a", "--format", "csv"});
  EXPECT_THAT(outcome.out, HasSubstr(",time,val_bpb\n"));
  EXPECT_EQ(outcome.err,
            "warning: step 2 has the score new/harness/acc, for which these lines have no column; "
            "a new 'gpctl metrics a --format csv' has one, and --format json has every score\n");
  const Outcome as_json = Run({"metrics", "a", "--format", "json"});
  EXPECT_THAT(as_json.out,
              AllOf(HasSubstr("\"val_bpb\":0.5"), HasSubstr("\"new/harness/acc\":0.5")));
  EXPECT_EQ(as_json.err, "");
}

TEST_F(CommandTest, MetricsOfARunWithoutStepsSaySoBesideTheOutput) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_QUEUED));
  for (const auto& more : std::vector<std::vector<std::string>>{{}, {"-o", "json"}}) {
    std::vector<std::string> arguments = {"metrics", "a"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "a has no steps yet; the run is queued.\n");
  }
  v1::MetricPoint point;
  point.set_step(1);
  service_.AddPoint(point);
  EXPECT_EQ(Run({"metrics", "a"}).err, "");
  EXPECT_THAT(Run({"metrics", "a", "--after-step", "1"}).err,
              HasSubstr("a has no steps after step 1; its newest is step"));
}

TEST_F(CommandTest, LogsWithoutLinesSaySoAndARankMustExist) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_QUEUED);  // with two ranks
  service_.AddRun(run);
  const Outcome outcome = Run({"logs", "a", "--rank", "1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "a has no log lines of rank 1; the run is queued.\n");
  const Outcome none = Run({"logs", "a", "--rank", "2"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--rank 2: a has 2 ranks, counted from 0"));
}

// An unset shell variable, "$UNSET", gives an empty value. It must not silently mean the default
// service, all namespaces or the run file's name.
TEST_F(CommandTest, AnEmptyValueIsNotTakenForTheDefault) {
  const std::vector<std::vector<std::string>> cases = {
      {"list", "--server", ""},    {"list", "--context", ""}, {"list", "--state-dir", ""},
      {"list", "--namespace", ""}, {"list", "--user", ""},    {"submit", "r.yaml", "--name", ""},
      {"down", "--state-dir", ""}, {"init", "--text", ""},    {"validate", ""}};
  for (const std::vector<std::string>& arguments : cases) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr("the value is empty")) << arguments[0];
  }
}

TEST_F(CommandTest, ACheckpointIsNotAskedForAsARun) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  EXPECT_THAT(Run({"status", "a@60"}).err,
              HasSubstr("'a@60' names a checkpoint; expected a run, such as 'a'"));
}

TEST_F(CommandTest, WhatIsNoAddressIsRefusedAtOnce) {
  for (const char* address :
       {"localhost", "127.0.0.1:99999", "localhost:0", "https://localhost:7070", "unix:"}) {
    const Outcome outcome = Run({"list", "--server", address});
    EXPECT_EQ(outcome.code, 2) << address;
    EXPECT_THAT(outcome.err, HasSubstr("is not the address of a coordinator; expected HOST:PORT"));
  }
}

TEST_F(CommandTest, WhatIsNoNamespaceIsRefusedAtOnce) {
  for (const char* name : {"a/b", "Team", "-a"}) {
    const Outcome outcome = Run({"list", "--namespace", name});
    EXPECT_EQ(outcome.code, 2) << name;
    EXPECT_THAT(outcome.err, HasSubstr("--namespace: '" + std::string(name) +
                                       "' is not a valid namespace; expected 1 to 63"));
  }
  EXPECT_EQ(Run({"list", "--namespace", "*"}).code, 0);
}

TEST_F(CommandTest, EventsShowTheReasons) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.AddEvent(v1::RUN_STATE_QUEUED, "submitted", "submitted by user");
  EXPECT_THAT(Run({"events", "a"}).out, HasSubstr("submitted by user"));
  EXPECT_EQ(json::parse(Run({"events", "a", "-o", "json"}).out)["event"], "submitted");
}

TEST_F(CommandTest, WaitAnswersWithTheEndOfTheRun) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  const auto end = [this](v1::RunState state) {
    service_.SetWatch(
        {MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING), MakeRun("a", "aaaaaaaa01", state)});
    return Run({"wait", "a"}).code;
  };
  EXPECT_EQ(end(v1::RUN_STATE_SUCCEEDED), 0);
  EXPECT_EQ(end(v1::RUN_STATE_FAILED), 7);
  EXPECT_EQ(end(v1::RUN_STATE_CANCELLED), 8);
}

TEST_F(CommandTest, WaitForAConditionEndsWhenItIsMet) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_QUEUED));
  service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_QUEUED),
                     MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING)});
  EXPECT_EQ(Run({"wait", "a", "--for", "step=400"}).code, 0);
  EXPECT_EQ(Run({"wait", "a", "--for", "running"}).code, 0);
  EXPECT_EQ(Run({"wait", "a", "--for", "val_loss<2.2"}).code, 0);
  EXPECT_EQ(Run({"wait", "a", "--for", "sometime"}).code, 2);
  EXPECT_EQ(Run({"wait", "a", "--for", "checkpoint", "--longest", "20ms"}).code, 6);
}

TEST_F(CommandTest, CtrlCDetachesFromAFollowedStream) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.AddLine("hello");
  gpctl_.interrupt_when_out_contains = "hello";
  const Outcome outcome = Run({"logs", "a", "-f"});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("Detached. a continues"));
}

TEST_F(CommandTest, CancelTellsTheNewStateAndAConflict) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.AddRun(MakeRun("b", "aaaaaaaa02", v1::RUN_STATE_SUCCEEDED));
  EXPECT_THAT(Run({"cancel", "a"}).out, HasSubstr("cancelling"));
  EXPECT_EQ(Run({"cancel", "b", "a"}).code, 5);
  EXPECT_THAT(service_.cancelled(), ElementsAre("a", "a"));
}

TEST_F(CommandTest, CheckpointsAreNamedByStepBestAndLatest) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  v1::Checkpoint checkpoint;
  checkpoint.set_step(100);
  checkpoint.set_best(true);
  checkpoint.set_directory("/c/100");
  service_.AddCheckpoint(checkpoint);
  checkpoint.set_step(200);
  checkpoint.set_best(false);
  checkpoint.set_latest(true);
  checkpoint.set_directory("/c/200");
  service_.AddCheckpoint(checkpoint);
  EXPECT_THAT(Run({"ckpt", "list", "a"}).out, HasSubstr("/c/200"));
  EXPECT_THAT(Run({"ckpt", "show", "a"}).out, HasSubstr("/c/200"));
  EXPECT_THAT(Run({"ckpt", "show", "a@best"}).out, HasSubstr("/c/100"));
  EXPECT_EQ(json::parse(Run({"ckpt", "show", "@last@100", "-o", "json"}).out)["directory"],
            "/c/100");
  const Outcome missing = Run({"ckpt", "show", "a@300"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("100, 200"));
  EXPECT_EQ(Run({"ckpt", "show", "a@soon"}).code, 2);
  EXPECT_EQ(Run({"ckpt"}).code, 2);
}

TEST_F(CommandTest, ACheckpointInQuarantineIsListedWithItsReasonAndComesBackWhenItIsWhole) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_FAILED));
  v1::Checkpoint held;
  held.set_run_id("aaaaaaaa01");
  held.set_step(300);
  held.set_directory("/c/300");
  held.set_quarantine_reason("a digest differs");
  held.mutable_quarantined_at()->set_seconds(1790000000);
  service_.AddCheckpoint(held);
  const Outcome listed = Run({"ckpt", "list", "a"});
  EXPECT_THAT(listed.out, HasSubstr("quarantined"));
  EXPECT_THAT(listed.out, HasSubstr("step 300: a digest differs"));
  const json item = json::parse(Run({"ckpt", "list", "a", "-o", "json"}).out)["items"][0];
  EXPECT_EQ(item["state"], "quarantined");
  EXPECT_EQ(item["quarantine_reason"], "a digest differs");
  EXPECT_THAT(Run({"ckpt", "show", "a@300"}).out, HasSubstr("a digest differs"));
  const Outcome sampled = Run({"sample", "a@300"});
  EXPECT_EQ(sampled.code, 3) << "nobody takes it for a checkpoint";
  EXPECT_THAT(sampled.err, HasSubstr("gpctl ckpt verify aaaaaaaa01@300"));

  const Outcome damaged = Run({"ckpt", "verify", "a@300"});
  EXPECT_EQ(damaged.code, 9);
  EXPECT_THAT(damaged.err, HasSubstr("stays in quarantine"));
  service_.SetQuarantinedWhole(true);
  const Outcome whole = Run({"ckpt", "verify", "a@300"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("back from quarantine"));
  EXPECT_EQ(json::parse(Run({"ckpt", "list", "a", "-o", "json"}).out)["items"][0]["state"],
            "sealed");
}

TEST_F(CommandTest, ARestartOfTheCoordinatorGoesUnnoticed) {
  service_.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.FailNext(3);
  EXPECT_EQ(Run({"status", "a"}).code, 0);
}

TEST_F(CommandTest, VersionShowsBothSides) {
  EXPECT_THAT(Run({"version"}).out, HasSubstr(service_.address()));
  const json server = json::parse(Run({"version", "-o", "json"}).out)["server"];
  EXPECT_EQ(server["coordinator_generation"], 3);
  for (const auto& [name, value] : server.items()) EXPECT_NE(value, "") << name << " is unknown";
  EXPECT_THAT(Run({"version", "--client"}).out, Not(HasSubstr("coordinator")));
  EXPECT_EQ(Run({"--version"}).out, Run({"version"}).out);
}

TEST(Gpctl, AnUnreachableCoordinatorIsSix) {
  GpctlRunner gpctl;
  const Outcome outcome = gpctl.Run({"list", "--server", "127.0.0.1:1", "--timeout", "1s"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("gpctl up"));
  EXPECT_EQ(gpctl.Run({"list"}).code, 6);
  const Outcome as_json = gpctl.Run({"list", "-o", "json"});
  EXPECT_EQ(json::parse(as_json.err)["error"]["code"], 6);
}

TEST(Gpctl, MistypedCommandsAndFlagsGetAProposal) {
  GpctlRunner gpctl;
  const Outcome command = gpctl.Run({"statsu", "x"});
  EXPECT_EQ(command.code, 2);
  EXPECT_THAT(command.err, HasSubstr("did you mean 'status'?"));
  const Outcome flag = gpctl.Run({"logs", "x", "--folow"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_THAT(flag.err, HasSubstr("did you mean '--follow'?"));
  EXPECT_THAT(gpctl.Run({"ckpt", "lst"}).err, HasSubstr("did you mean 'list'?"));
  EXPECT_EQ(gpctl.Run({"status"}).code, 2);
  EXPECT_EQ(gpctl.Run({"list", "-o", "xml"}).code, 2);
}

TEST(Gpctl, HelpCoversCommandsAndTopics) {
  GpctlRunner gpctl;
  EXPECT_THAT(gpctl.Run({}).out, HasSubstr("Show runs: running ones, then waiting ones"));
  EXPECT_EQ(gpctl.Run({"--help"}).out, gpctl.Run({"help"}).out);
  EXPECT_THAT(gpctl.Run({"help", "list"}).out, HasSubstr("gpctl list"));
  EXPECT_THAT(gpctl.Run({"help", "ckpt", "show"}).out, HasSubstr("gpctl ckpt show"));
  for (const char* topic :
       {"exit-codes", "references", "environment", "states", "run-file", "trouble"}) {
    const Outcome outcome = gpctl.Run({"help", topic});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_GT(outcome.out.size(), 200u) << topic;
  }
  EXPECT_EQ(gpctl.Run({"help", "exit-code"}).code, 2);
}

// No word is torn by the edge of a terminal of 80 columns.
TEST(Gpctl, HelpFitsTheTerminal) {
  GpctlRunner gpctl;
  std::vector<std::vector<std::string>> pages = {{"help"}, {"--help"}};
  std::istringstream commands(gpctl.Run({"__complete", "help", ""}).out);  // and topics
  for (std::string word; std::getline(commands, word);) pages.push_back({"help", word});
  ASSERT_GT(pages.size(), 40u);
  for (const char* noun : {"ckpt", "data", "context", "token", "audit", "workers"}) {
    std::istringstream verbs(gpctl.Run({"__complete", noun, ""}).out);
    for (std::string verb; std::getline(verbs, verb);) pages.push_back({"help", noun, verb});
  }
  gpctl.terminal = true;
  for (const auto& page : pages) {
    const Outcome help = gpctl.Run(page);
    EXPECT_EQ(help.code, 0) << page.back();
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(gpctl::DisplayWidth(line), 80) << page.back() << ": " << line;
    }
  }
}

TEST(Gpctl, CompletionScriptsAskForTheWords) {
  GpctlRunner gpctl;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(gpctl.Run({"completion", shell}).out, HasSubstr("__complete")) << shell;
  }
  EXPECT_EQ(gpctl.Run({"completion", "tcsh"}).code, 2);
}

// Text that users, agents and trainers wrote must not set the terminal's title, clear the screen,
// reorder a line or forge one, whichever command shows it.
TEST_F(CommandTest, NothingThatOthersWroteDrivesTheTerminal) {
  const std::string attack =
      "x\x1b]0;owned\x07\x1b[2J\xc2\x9b"
      "31m\xe2\x80\xae<script>\r\nforged line is SUCCEEDED";
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_FAILED);
  run.set_name(attack);
  run.set_reason(attack);
  run.set_namespace_(attack);
  (*run.mutable_labels())[attack] = attack;
  run.mutable_progress()->set_warning(attack);
  run.add_placement()->set_node_name(attack);
  service_.AddRun(run);
  service_.SetWatch({run});
  service_.AddLine("2026-11-23T10:00:00.000Z info gp-trainer sample step=5 text=\"" + attack +
                   "\"");
  service_.AddEvent(v1::RUN_STATE_FAILED, attack, attack);
  v1::Node node;
  node.set_name(attack);
  node.set_version(attack);
  node.set_gpu_problem(attack);
  node.set_storage_problem(attack);
  node.add_slots()->set_device_name(attack);
  service_.AddNode(node);
  v1::Checkpoint checkpoint;
  checkpoint.set_directory("/" + attack);
  checkpoint.set_quarantine_reason(attack);
  service_.AddCheckpoint(checkpoint);
  const std::vector<std::vector<std::string>> commands = {
      {"list", "-a"},    {"list", "-a", "-q"},      {"status", "@last"}, {"why", "@last"},
      {"logs", "@last"}, {"events", "@last"},       {"watch", "@last"},  {"wait", "@last"},
      {"workers"},       {"ckpt", "list", "@last"}, {"cancel", "@last"}, {"status", "no\x1b[2Jrun"},
      {"top", "--once"}};
  for (const bool terminal : {false, true}) {
    gpctl_.terminal = terminal;
    for (const char* format : {"text", "json"}) {
      for (std::vector<std::string> command : commands) {
        if (std::string(format) == "json") command.insert(command.begin(), {"-o", "json"});
        const Outcome outcome = Run(command);
        const std::string shown = outcome.out + outcome.err;
        EXPECT_FALSE(shown.empty()) << command[0];
        for (const char* part : {"\x1b]", "\x1b[2J", "\x07", "\xc2\x9b", "\xe2\x80\xae"}) {
          EXPECT_EQ(shown.find(part), std::string::npos) << command[0] << " " << format << "\n"
                                                         << shown;
        }
        if (command[0] == "list") {
          EXPECT_EQ(shown.find("\nforged"), std::string::npos) << shown;
        }
      }
    }
  }
}

// Case runs-and-service/47: output that could not be written was lost silently.
TEST_F(CommandTest, OutputThatCannotBeWrittenIsAnErrorOfEveryCommand) {
  const v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED);
  service_.AddRun(run);
  service_.SetWatch({run});
  v1::MetricPoint point;
  point.set_step(10);
  service_.AddPoint(point);
  const std::vector<std::vector<std::string>> commands = {
      {"list", "-a"},        {"status", "a"}, {"metrics", "a"}, {"metrics", "a", "-o", "json"},
      {"version"},           {"watch", "a"},  {"wait", "a"},    {"explain", "run"},
      {"init", "--list"},    {"help"},        {"--help"},       {"list", "--help"},
      {"completion", "bash"}};
  for (const std::vector<std::string>& command : commands) {
    gpctl_.output_error = ENOSPC;
    const Outcome lost = Run(command);
    EXPECT_EQ(lost.code, 1) << command[0];
    EXPECT_THAT(lost.err, HasSubstr("cannot write to standard output: No space left on device"))
        << command[0];
    gpctl_.output_error = EPIPE;
    const Outcome unread = Run(command);
    EXPECT_EQ(unread.code, 1) << command[0];
    EXPECT_EQ(unread.err, "") << command[0];
  }
}

TEST_F(CommandTest, WatchEndsWhenNobodyReadsIt) {
  const v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  service_.AddRun(run);
  service_.SetWatch({run});
  gpctl_.output_error = EPIPE;
  for (const char* format : {"text", "json"}) {
    EXPECT_EQ(Run({"watch", "a", "-o", format}).code, 1) << format;
  }
}

TEST_F(CommandTest, AnAddressOfAnotherStorageIsNotTakenForAFolder) {
  const std::string s3 = "s3://bucket/x";
  const std::vector<std::vector<std::string>> commands = {
      {"export", "a", s3},
      {"export", s3, "out"},
      {"import", s3, "--name", "m"},
      {"import", ".", "--name", "m", "--to", s3},
      {"import", ".", "--name", "m", "--tokenizer", s3},
      {"up", "--storage-root", s3},
      {"up", "--trainer", s3},
      {"up", "--state-dir", s3},
      {"list", "--state-dir", s3},
      {"submit", s3},
      {"validate", s3},
      {"init", s3},
      {"init", "--text", s3},
      {"demo", "--text", s3},
      {"sample", s3},
      {"eval", s3},
      {"eval", "a", "--file", s3},
      {"eval", "a", "--items", s3},
      {"serve", s3},
      {"data", "prepare", s3, "--out", "o"},
      {"data", "prepare", ".", "--out", s3},
      {"data", "prepare", ".", "--out", "o", "--tokenizer", s3},
      {"data", "train-tokenizer", ".", "--out", s3},
      {"data", "inspect", s3},
      {"data", "verify", s3},
      {"login", "h:1", "--token-file", s3},
      {"login", "h:1", "--token-file", "t", "--ca", s3},
      {"token", "create", "--role", "viewer", "--name", "u", "--out", s3},
      {"audit", "verify", s3}};
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.code, 2) << command[0] << " " << command[1];
    EXPECT_THAT(outcome.err, HasSubstr("'s3://bucket/x' is an address, not a path"))
        << command[0] << " " << command[1];
    EXPECT_FALSE(FileExists(gpctl_.home() + "/s3:")) << command[0];
  }
}

TEST_F(CommandTest, AVariableOfTheEnvironmentIsNotTakenForAFolderEither) {
  for (const char* name : {"GPCTL_STATE_DIR", "GPCTL_TOKEN_FILE", "GPCTL_CA_FILE", "TEXT",
                           "XDG_STATE_HOME", "XDG_CONFIG_HOME"}) {
    gpctl_.environment[name] = "gs://bucket/x";
    const Outcome outcome = Run({"list"});
    EXPECT_EQ(outcome.code, 2) << name;
    EXPECT_THAT(outcome.err,
                StartsWith(std::string("error: ") + name + ": 'gs://bucket/x' is an "));
    gpctl_.environment.erase(name);
  }
}

}  // namespace
}  // namespace gp::testing
