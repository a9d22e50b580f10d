// Single rules of the core that the scenarios do not cover, as tables.
#include <gtest/gtest.h>

#include <functional>

#include "coordinator/scheduler/retention.h"
#include "coordinator/state/admission.h"
#include "coordinator/state/assignment.h"
#include "coordinator/state/invariants.h"
#include "coordinator/state/run_reference.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

bool SeesAll(const Run&) { return true; }

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

Cluster ClusterOf(const std::vector<Event>& events) {
  Cluster cluster;
  for (const Event& event : events) {
    const Status status = Apply(event, cluster);
    EXPECT_TRUE(status.ok()) << status;
  }
  return cluster;
}

Cluster ThreeRuns() {
  return ClusterOf(
      {SampleSubmit("abcdx1", "1"), SampleSubmit("abcdy2", "2"), SampleSubmit("xyzwv3", "3")});
}

TEST(RunState, TerminalIsFinal) {
  for (int from = 1; from <= 15; ++from) {
    for (int to = 1; to <= 15; ++to) {
      const auto a = static_cast<RunState>(from);
      const auto b = static_cast<RunState>(to);
      EXPECT_FALSE(IsTerminal(a) && IsAllowed(a, b)) << Name(a) << " to " << Name(b);
    }
  }
}

TEST(Apply, RefusesWhatCannotBeAndChangesNothing) {
  const std::vector<Event> life = OneOfEachKind();
  // Applies every event in every state of this life. Whenever an event is refused, the cluster must
  // be unchanged.
  for (size_t done = 0; done < life.size(); ++done) {
    const Cluster before = ClusterOf({life.begin(), life.begin() + static_cast<long>(done)});
    for (const Event& event : life) {
      Cluster after = before;
      if (Apply(event, after).ok()) continue;
      EXPECT_EQ(after.last_sequence, before.last_sequence);
      EXPECT_EQ(after.FindRun(RunId("r")), before.FindRun(RunId("r"))) << Kind(event);
    }
  }
}

TEST(Apply, AnOlderStreamOfANodeNeverReplacesANewerOne) {
  const auto hello = [](uint64_t session) {
    NodeConnected connected;
    connected.node = NodeId("n");
    connected.session = session;
    return Event{RunId(), At(1), "node", "", connected};
  };
  const Cluster cluster = ClusterOf({hello(2), hello(1)});
  EXPECT_EQ(cluster.FindNode(NodeId("n"))->session, 2u);
}

TEST(PlanRetention, WhatAPersonBroughtBackIsAPersonsToRemove) {
  RunValue run;
  Submission submission = SampleSubmission();
  submission.keep_last = 2;
  run.submission = std::make_shared<const Submission>(submission);
  for (const int64_t step : {10, 20, 30, 40}) run.checkpoints.push_back({{.step = step}});
  run.checkpoints[0].restored = true;
  gp::coordinator::Plan plan;
  PlanRetention(Cluster(), run, plan);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(std::get<CheckpointRetired>(plan[0].event).step, 20);
}

TEST(ResolveRun, ByIdNamePrefixAndLast) {
  const Cluster cluster = ThreeRuns();
  EXPECT_EQ((*ResolveRun(cluster, "abcdx1", SeesAll))->id, RunId("abcdx1"));
  EXPECT_EQ((*ResolveRun(cluster, "abcdy", SeesAll))->id, RunId("abcdy2"));
  EXPECT_EQ((*ResolveRun(cluster, "@last", SeesAll))->id, RunId("xyzwv3"));
  EXPECT_EQ(ResolveRun(cluster, "nope", SeesAll).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ResolveRun(cluster, "", SeesAll).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ResolveRun(Cluster(), "@last", SeesAll).status().code(), StatusCode::kNotFound);
  const auto ambiguous = ResolveRun(cluster, "abcd", SeesAll);
  EXPECT_EQ(ambiguous.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(ambiguous.status()).find("abcdx1, abcdy2"), std::string::npos);
}

// A short name that no run has any more must not mean another run: 'gpctl delete wk0' twice.
TEST(ResolveRun, AShortBeginningOfAnIdIsNoReference) {
  const Cluster cluster = ThreeRuns();
  EXPECT_EQ((*ResolveRun(cluster, "xyzw", SeesAll))->id, RunId("xyzwv3"));
  const auto shorter = ResolveRun(cluster, "xyz", SeesAll);
  EXPECT_EQ(shorter.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(shorter.status()),
            "run 'xyz' does not exist; the beginning of an id needs at least 4 characters");
}

std::vector<Event> Cancelled(const std::string& id) {
  return {{.run = RunId(id), .at = At(8), .body = CancelRequested{}},
          {.run = RunId(id), .at = At(9), .body = RunEnded{RunState::kCancelled, "by the user"}}};
}

// Only the state of an older version can have two live runs with the same name.
TEST(ResolveRun, ANameIsTheRunThatHasNotEnded) {
  Cluster cluster = ThreeRuns();
  const auto several = ResolveRun(cluster, "tiny", SeesAll);
  EXPECT_EQ(several.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(several.status()),
            "3 runs called 'tiny' have not ended; name one by its id: abcdx1, abcdy2, xyzwv3");
  for (const std::string id : {"xyzwv3", "abcdy2"}) {
    for (const Event& event : Cancelled(id)) ASSERT_TRUE(Apply(event, cluster).ok());
  }
  EXPECT_EQ((*ResolveRun(cluster, "tiny", SeesAll))->id, RunId("abcdx1"));
  for (const Event& event : Cancelled("abcdx1")) ASSERT_TRUE(Apply(event, cluster).ok());
  EXPECT_EQ((*ResolveRun(cluster, "tiny", SeesAll))->id, RunId("xyzwv3")) << "the newest of all";
}

Event SubmitTo(const std::string& id, const std::string& run_namespace) {
  Event event = SampleSubmit(id, id);
  std::get<RunSubmitted>(event.body).submission.run_namespace = run_namespace;
  return event;
}

TEST(ResolveRun, WithinTheNamespacesThatOneSees) {
  const Cluster cluster = ClusterOf(
      {SubmitTo("aabbx2", "research"), SubmitTo("abbbb3", "other"), SubmitTo("abbbc4", "")});
  const auto sees_research = [](const RunValue& run) { return NamespaceOf(run) == "research"; };
  EXPECT_EQ((*ResolveRun(cluster, "tiny", sees_research))->id, RunId("aabbx2"));
  EXPECT_EQ((*ResolveRun(cluster, "@last", sees_research))->id, RunId("aabbx2"));
  EXPECT_EQ((*ResolveRun(cluster, "aabb", sees_research))->id, RunId("aabbx2"));
  for (const char* hidden : {"abbbb3", "abbb", "other/tiny", "other/abbbb3", "other/@last"}) {
    EXPECT_EQ(ResolveRun(cluster, hidden, sees_research).status().code(), StatusCode::kNotFound);
  }
  const auto ambiguous = ResolveRun(cluster, "tiny", SeesAll);
  EXPECT_EQ(ambiguous.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(ambiguous.status()),
            "several namespaces have a run 'tiny'; name one with its namespace or by its id: "
            "default/tiny is abbbc4, other/tiny is abbbb3, research/tiny is aabbx2");
  EXPECT_EQ(Message(ResolveRun(cluster, "abbb", SeesAll).status()),
            "'abbb' matches 2 runs: other/abbbb3, default/abbbc4; give more characters");
  EXPECT_EQ((*ResolveRun(cluster, "default/tiny", SeesAll))->id, RunId("abbbc4"));
  EXPECT_EQ((*ResolveRun(cluster, "other/abbb", SeesAll))->id, RunId("abbbb3"));
}

TEST(Admit, OneRequestIdMakesOneRun) {
  const Cluster cluster = ThreeRuns();
  const auto repeated = Admit(cluster, SampleSubmit("new", "2"));
  EXPECT_TRUE(repeated->replayed);
  EXPECT_EQ(repeated->run, RunId("abcdy2"));
  Event other = SampleSubmit("new", "2");
  std::get<RunSubmitted>(other.body).submission.body_digest = "different";
  EXPECT_EQ(Admit(cluster, other).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Admit(cluster, {.run = RunId("nope"), .body = CancelRequested{}}).status().code(),
            StatusCode::kNotFound);
}

TEST(SealRefusal, NamesWhyACheckpointCanNeverBeSealed) {
  std::vector<Event> life = OneOfEachKind();
  life.resize(8);  // step 10 is sealed
  const auto run = ClusterOf(life).FindRun(RunId("r"));
  const auto written = [](int64_t step, const std::string& digest, const std::string& directory) {
    return contract::WrittenCheckpoint{step, directory, digest, 1, std::nullopt, false};
  };
  EXPECT_EQ(SealRefusal(*run, written(20, "d", "/storage/runs/r/checkpoints/step-20-x")), "");
  EXPECT_EQ(SealRefusal(*run, written(10, "digest", "/storage/runs/r/c")), "");
  EXPECT_NE(SealRefusal(*run, written(10, "other", "/storage/runs/r/c")), "");
  EXPECT_NE(SealRefusal(*run, written(5, "d", "/storage/runs/r/c")), "");
  EXPECT_NE(SealRefusal(*run, written(20, "d", "/etc")), "");
  EXPECT_NE(SealRefusal(*run, written(20, "d", "/storage/runs/rr/c")), "");
  EXPECT_NE(SealRefusal(*run, written(-1, "d", "/storage/runs/r/checkpoints/step-20-x")), "");
}

// The coordinator deletes and verifies sealed checkpoints, and other runs start from them, so a
// seal must not name a directory outside the run.
TEST(SealRefusal, ADirectoryThatLeadsOutOfTheRunIsRefused) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SampleSubmit("r", "1"), cluster).ok());
  const auto run = cluster.FindRun(RunId("r"));
  const std::string checkpoints = "/storage/runs/r/checkpoints/";
  for (const std::string& directory :
       {checkpoints + "../../other/checkpoints/step-1-e1-a", checkpoints + "step-1/../../x",
        checkpoints + "..", checkpoints + ".", checkpoints, checkpoints + "step-1/a",
        checkpoints + "step-1.damaged", checkpoints + "step-1.quarantined",
        checkpoints + "step-1\n", checkpoints + "a", checkpoints + "step-" + std::string(200, '1'),
        std::string("/storage/runs/r/step-1"), std::string("/storage/runs/r/checkpoints"),
        std::string()}) {
    EXPECT_NE(SealRefusal(*run, {.step = 1, .directory = directory}), "") << directory;
  }
  EXPECT_EQ(SealRefusal(*run, {.step = 1, .directory = checkpoints + "step-00000001-e1-7f3k"}), "");
}

TEST(Apply, AWarningThatComesAgainIsOneEvent) {
  std::vector<Event> life = OneOfEachKind();
  life.resize(7);  // running in epoch 2
  Cluster cluster = ClusterOf(life);
  const auto warned = [](Epoch epoch, int64_t step) {
    return Event{RunId("r"), At(9), "node n", "", RunWarned{epoch, step, "look here"}};
  };
  EXPECT_TRUE(Apply(warned(2, 1), cluster).ok());
  EXPECT_FALSE(Apply(warned(2, 1), cluster).ok());
  EXPECT_FALSE(Apply(warned(1, 9), cluster).ok());
  EXPECT_FALSE(Apply(warned(3, 1), cluster).ok()) << "nobody runs in that epoch yet";
  EXPECT_TRUE(Apply(warned(2, 2), cluster).ok());
}

TEST(Assignment, AnswersOnlyForWhatTheRankStillAsksAbout) {
  std::vector<Event> life = OneOfEachKind();
  life.resize(9);  // steps 10 and 20 of epoch 2 are sealed
  Cluster cluster = ClusterOf(life);
  const auto report = [](std::vector<contract::WrittenCheckpoint> written) {
    NodeConnected connected;
    connected.node = NodeId("n");
    connected.session = 1;
    RankReport rank;
    rank.run = RunId("r");
    rank.epoch = 2;
    rank.phase = RankPhase::kRunning;
    rank.written = std::move(written);
    connected.ranks = {rank};
    return Event{RunId(), At(9), "node n", "", connected};
  };
  ASSERT_TRUE(Apply(report({}), cluster).ok());
  const auto assignment = [&] { return AssignmentsOf(cluster, NodeId("n")).at(0); };
  EXPECT_TRUE(assignment().sealed_steps.empty()) << "it would grow with the run";
  ASSERT_TRUE(Apply(report({{20, "/storage/runs/r/c", "digest", 1, {}, true}}), cluster).ok());
  EXPECT_EQ(assignment().sealed_steps, (std::vector<int64_t>{20}));
}

TEST(Retention, KeepsTheNewestAndTheBest) {
  Submission submission = SampleSubmission();
  submission.keep_last = 2;
  RunValue run;
  run.submission = std::make_shared<const Submission>(submission);
  const std::vector<double> losses = {3.0, 1.0, 2.0, 2.5, 2.4};
  for (size_t i = 0; i < losses.size(); ++i) {
    SealedCheckpoint checkpoint;
    checkpoint.step = static_cast<int64_t>(i + 1) * 10;
    checkpoint.validation_loss = losses[i];
    run.checkpoints.push_back(checkpoint);
  }
  gp::coordinator::Plan plan;
  PlanRetention(Cluster(), run, plan);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(std::get<CheckpointRetired>(plan[0].event).step, 30);
  EXPECT_EQ(std::get<CheckpointRetired>(plan[1].event).step, 10);
}

TEST(Retention, KeepsWhatAnotherRunIsAboutToBeginWith) {
  const std::string awaited = "/storage/runs/r/checkpoints/step-10";
  RunValue child;
  child.id = RunId("child");
  child.submitted_sequence = 7;
  child.state = RunState::kQueued;
  Submission submission = SampleSubmission();
  submission.resolved += "init_from: " + awaited + "\n";
  child.submission = std::make_shared<const Submission>(submission);
  Cluster cluster;
  cluster.Set(child);
  RunValue parent;
  parent.submission = std::make_shared<const Submission>(SampleSubmission());
  for (const int64_t step : {10, 20, 30, 40, 50}) {
    parent.checkpoints.push_back(
        {{.step = step, .directory = fmt::format("/storage/runs/r/checkpoints/step-{}", step)}});
  }
  const auto retired = [&] {
    gp::coordinator::Plan plan;
    PlanRetention(cluster, parent, plan);
    std::vector<int64_t> steps;
    for (const auto& action : plan) steps.push_back(std::get<CheckpointRetired>(action.event).step);
    return steps;
  };
  EXPECT_EQ(retired(), (std::vector<int64_t>{20}));
  child.state = RunState::kRunning;
  cluster.Set(child);
  EXPECT_EQ(retired(), (std::vector<int64_t>{20})) << "it may have to begin again";
  child.checkpoints.push_back({{.step = 5}});
  cluster.Set(child);
  EXPECT_EQ(retired(), (std::vector<int64_t>{20, 10}));
  child.next_leg = {child.submission, /*first_step=*/-1};
  cluster.Set(child);
  EXPECT_EQ(retired(), (std::vector<int64_t>{20})) << "it is about to begin again";
  child.next_leg.reset();
  child.checkpoints.clear();
  cluster.Set(child);
  child.state = RunState::kCancelled;
  cluster.Set(child);
  EXPECT_TRUE(cluster.awaited_models.empty());
}

// Each broken state is built by hand, because Apply cannot produce one.
TEST(Invariants, FindWhatIsBroken) {
  std::vector<Event> life = OneOfEachKind();
  life.resize(8);
  const Cluster good = ClusterOf(life);
  const std::set<RunId> touched = {RunId("r")};
  ASSERT_TRUE(FindViolations(good, good, touched).empty());
  const auto breaks = [&](const std::function<void(RunValue&)>& breakage) {
    Cluster bad = good;
    RunValue run = *good.FindRun(RunId("r"));
    breakage(run);
    bad.runs.Set(RunId("r"), std::make_shared<const RunValue>(run));
    const auto violations = FindViolations(good, bad, touched);
    return violations.size() == 1 && violations.front().run == RunId("r");
  };
  EXPECT_TRUE(breaks([](RunValue& run) { run.epoch = 1; }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.placement.pop_back(); }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.placement[1].slot = run.placement[0].slot; }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.checkpoints[0].manifest_digest = "x"; }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.checkpoints.push_back(run.checkpoints.back()); }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.checkpoints.clear(); }));
  EXPECT_TRUE(breaks([](RunValue& run) {
    run.quarantined.push_back({run.checkpoints[0]});
    run.quarantined[0].checkpoint.manifest_digest = "x";
    run.checkpoints.erase(run.checkpoints.begin());
  }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.checkpoints[0].retired = true; }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.state = RunState::kSucceeded; }));
  EXPECT_TRUE(breaks([](RunValue& run) { run.reason.clear(); }));
  EXPECT_TRUE(breaks(
      [](RunValue& run) { run.submission = std::make_shared<const Submission>(*run.submission); }));
}

TEST(Invariants, OneCheckpointMayLeaveTheQuarantineWhileAnotherGoesThere) {
  RunValue run = *ClusterOf(OneOfEachKind()).FindRun(RunId("r"));
  ASSERT_EQ(run.checkpoints.size(), 2u);
  run.state = RunState::kBackoff;
  const SealedCheckpoint older = run.checkpoints[0], newer = run.checkpoints[1];
  const auto with = [&](const SealedCheckpoint& sealed, const SealedCheckpoint& held) {
    Cluster cluster = ClusterOf(OneOfEachKind());
    run.checkpoints = {sealed};
    run.checkpoints[0].retired = false;
    run.quarantined = {{held}};
    cluster.runs.Set(run.id, std::make_shared<const RunValue>(run));
    return cluster;
  };
  const auto violations = FindViolations(with(newer, older), with(older, newer), {RunId("r")});
  EXPECT_TRUE(violations.empty()) << violations.front().rule;
}

}  // namespace
}  // namespace gp::coordinator
