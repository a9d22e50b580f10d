// Goal: a request id stands for exactly one request body; the bodies are compared as a whole.
#include "coordinator/state/admission.h"

#include <gtest/gtest.h>

#include "coordinator/state/annotation.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

Event SubmitWithDigest(const std::string& run, const std::string& digest) {
  Event event = SampleSubmit(run, "request-1");
  std::get<RunSubmitted>(event.body).submission.body_digest = digest;
  return event;
}

TEST(Admission, BodiesAreEqualWhenEveryCharacterOfTheirDigestsIs) {
  const std::string digest(64, 'a');
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitWithDigest("r", digest), cluster).ok());
  const auto repeated = Admit(cluster, SubmitWithDigest("new", digest));
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_TRUE(repeated->replayed);
  EXPECT_FALSE(repeated->append);
  EXPECT_EQ(repeated->run, RunId("r"));
  for (const size_t place : {0, 31, 63}) {
    std::string other = digest;
    other[place] = 'b';
    EXPECT_EQ(Admit(cluster, SubmitWithDigest("new", other)).status().code(),
              StatusCode::kAlreadyExists)
        << place;
  }
}

TEST(Admission, ARunHasSoManyWarningsAndNoMore) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SampleSubmit("r", "1"), cluster).ok());
  const auto warn = [&](int step) {
    return Event{.run = RunId("r"), .body = RunWarned{.epoch = 0, .step = step, .text = "w"}};
  };
  for (int step = 1; step <= kWarningsMax; ++step) {
    ASSERT_TRUE(Admit(cluster, warn(step)).ok());
    ASSERT_TRUE(Apply(warn(step), cluster).ok());
  }
  EXPECT_EQ(Admit(cluster, warn(kWarningsMax + 1)).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST(Admission, ACheckpointThatWasRetiredMeanwhileBeginsNoRunAndNoLeg) {
  const std::string directory = "/srv/runs/base/checkpoints/step-10";
  Cluster cluster;
  coordinator::Run base;
  base.id = RunId("base");
  base.submitted_sequence = 1;
  base.submission = std::make_shared<const Submission>(SampleSubmission());
  base.checkpoints.push_back({{.step = 10, .directory = directory}});
  cluster.Set(base);
  Event submit = SampleSubmit("child", "request-2");
  Submission& submission = std::get<RunSubmitted>(submit.body).submission;
  submission.name = "child";
  submission.resolved = "init_from: " + directory + "\n";
  EXPECT_TRUE(Admit(cluster, submit).ok());
  coordinator::Run child;
  child.id = RunId("child");
  child.submitted_sequence = 2;
  child.state = RunState::kFailed;
  child.submission = std::make_shared<const Submission>(submission);
  cluster.Set(child);
  const Event retry{.run = child.id, .request_id = "leg", .body = LegRequested{submission}};
  EXPECT_TRUE(Admit(cluster, retry).ok());
  base.checkpoints[0].retired = true;
  cluster.Set(base);
  EXPECT_EQ(Admit(cluster, submit).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Admit(cluster, retry).status().code(), StatusCode::kFailedPrecondition);
  child.checkpoints.push_back({{.step = 5, .directory = "/srv/runs/child/checkpoints/step-5"}});
  cluster.Set(child);
  EXPECT_TRUE(Admit(cluster, retry).ok()) << "it has a checkpoint of its own";
  const Event again{
      .run = child.id, .request_id = "leg", .body = LegRequested{submission, /*first_step=*/-1}};
  EXPECT_EQ(Admit(cluster, again).status().code(), StatusCode::kFailedPrecondition);
}

TEST(Admission, ARequestIdStandsForOneLegOfARun) {
  Event submit = SampleSubmit("r", "submit-1");
  Cluster cluster;
  ASSERT_TRUE(Apply(submit, cluster).ok());
  const auto leg = [&](const std::string& id, const std::string& digest) {
    LegRequested requested{.submission = SampleSubmission(), .why = "restarted from step 150"};
    requested.body_digest = digest;
    return Event{.run = RunId("r"), .request_id = id, .body = requested};
  };
  const auto expect_answers = [&](const char* when) {
    const auto repeated = Admit(cluster, leg("id", "a"));
    ASSERT_TRUE(repeated.ok()) << when << repeated.status();
    EXPECT_TRUE(repeated->replayed && !repeated->append) << when;
    const Status other = Admit(cluster, leg("id", "b")).status();
    EXPECT_EQ(other.code(), StatusCode::kAlreadyExists) << when;
    EXPECT_EQ(
        Message(other),
        "request id 'id' was used before for another request about run 'tiny' (restarted from "
        "step 150); use a new one")
        << when;
    EXPECT_TRUE(Admit(cluster, leg("id", "")).ok()) << when << ": unknown";
  };
  EXPECT_EQ(Admit(cluster, leg("submit-1", "a")).status().code(), StatusCode::kAlreadyExists)
      << "the submit has it";
  coordinator::Run run = *cluster.FindRun(RunId("r"));
  run.next_leg = NextLeg{run.submission, 150, "restarted from step 150", "id", "a"};
  cluster.Set(run);
  expect_answers("it is about to begin");
  run.next_leg.reset();
  run.ended_legs.push_back({run.leg, run.submission});
  run.leg = {
      .number = 2, .request_id = "id", .body_digest = "a", .why_begun = "restarted from step 150"};
  cluster.Set(run);
  expect_answers("it has begun");
  run.ended_legs.push_back({run.leg, run.submission});
  run.leg = {.number = 3, .request_id = "third"};
  cluster.Set(run);
  expect_answers("it has ended");
}

// A client that resolved base@10 before the deletion sends the path of its directory after it.
TEST(Admission, TheDirectoryOfADeletedRunBeginsNoRunNoLegAndNoTrial) {
  Event submit = SampleSubmit("child", "request-2");
  Submission& submission = std::get<RunSubmitted>(submit.body).submission;
  submission.parent_run.clear();
  submission.resolved = "init_from: /srv/runs/base/checkpoints/step-10\n";
  Cluster cluster;
  coordinator::Run child;
  child.id = RunId("orphan");
  child.submitted_sequence = 2;
  child.state = RunState::kFailed;
  child.submission = std::make_shared<const Submission>(submission);
  cluster.Set(child);
  coordinator::Run base = child;
  base.id = RunId("base");
  cluster.Set(base);
  cluster.Delete(base, {.id = base.id,
                        .name = "base",
                        .run_directory = "/srv/runs/base",
                        .deleted_by = "user alice"});
  const Status refused = Admit(cluster, submit).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused).find("run 'base' (base), to which"), std::string::npos) << refused;
  const Event restart{
      .run = child.id, .request_id = "leg", .body = LegRequested{submission, /*first_step=*/-1}};
  EXPECT_EQ(Admit(cluster, restart).status().code(), StatusCode::kFailedPrecondition);
  SweepSpec sweep;
  sweep.name = "s";
  sweep.trials.push_back({.submission = submission});
  const Event trials{.request_id = "sweep",
                     .body = SweepSubmitted{std::make_shared<const SweepSpec>(sweep)}};
  EXPECT_EQ(Admit(cluster, trials).status().code(), StatusCode::kFailedPrecondition);
}

// A cluster with the ended run "base", and its deletion.
class Deletion : public ::testing::Test {
 protected:
  Deletion() {
    coordinator::Run base = RunOf("base", "");
    base.state = RunState::kSucceeded;
    base.checkpoints.push_back({{.step = 10, .directory = kCheckpoint}});
    cluster_.Set(base);
  }

  coordinator::Run RunOf(const std::string& id, const std::string& model) {
    coordinator::Run run;
    run.id = RunId(id);
    run.submitted_sequence = ++submitted_;
    Submission submission = SampleSubmission();
    submission.name = id;
    submission.parent_run.clear();
    submission.run_directory = "/srv/runs/" + id;
    submission.resolved = model.empty() ? "" : "init_from: " + model + "\n";
    run.submission = std::make_shared<const Submission>(submission);
    return run;
  }
  coordinator::Run ChildOf(const std::string& parent) {
    coordinator::Run child = RunOf("child", kCheckpoint);
    child.state = RunState::kFailed;
    Submission submission = *child.submission;
    submission.parent_run = parent;
    submission.parent_leg = 1;
    submission.parent_step = 10;
    child.submission = std::make_shared<const Submission>(submission);
    return child;
  }
  Status Delete(const RunDeleted& deletion) const {
    return Admit(cluster_, {.run = RunId("base"), .request_id = "d", .body = deletion}).status();
  }

  static constexpr char kCheckpoint[] = "/srv/runs/base/checkpoints/step-10";
  Cluster cluster_;
  uint64_t submitted_ = 0;
};

TEST_F(Deletion, ADryRunIsRefusedForAModelThatARunAwaits) {
  EXPECT_TRUE(Delete({.is_trial = true}).ok());
  coordinator::Run waiting = RunOf("waiting", "/srv/runs/base/exported");
  waiting.state = RunState::kQueued;
  cluster_.Set(waiting);
  for (const bool keep : {false, true}) {
    for (const bool trial : {false, true}) {
      const Status refused = Delete({.keep_checkpoints = keep, .is_trial = trial});
      EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << keep << trial;
      EXPECT_NE(Message(refused).find("run 'waiting'"), std::string::npos) << refused;
      EXPECT_NE(Message(refused).find("cancel it first"), std::string::npos) << refused;
    }
  }
}

TEST_F(Deletion, AModelThatIsAKeptCheckpointStays) {
  coordinator::Run waiting = RunOf("waiting", kCheckpoint);
  waiting.state = RunState::kQueued;
  cluster_.Set(waiting);
  for (const bool trial : {false, true}) {
    EXPECT_TRUE(Delete({.keep_checkpoints = true, .is_trial = trial}).ok());
    EXPECT_FALSE(Delete({.is_trial = trial}).ok());
  }
}

TEST_F(Deletion, ADryRunNamesTheChildrenInsteadOfARefusal) {
  cluster_.Set(ChildOf("base"));
  EXPECT_FALSE(Delete({}).ok());
  EXPECT_TRUE(Delete({.is_trial = true}).ok());
}

TEST_F(Deletion, WhatWasDeletedAlreadyIsRefusedInADryRun) {
  ASSERT_TRUE(
      Apply({.run = RunId("base"), .body = RunDeleted{.keep_checkpoints = true}}, cluster_).ok());
  for (const bool trial : {false, true}) {
    EXPECT_EQ(Delete({.keep_checkpoints = true, .is_trial = trial}).code(), StatusCode::kNotFound);
    EXPECT_TRUE(Delete({.is_trial = trial}).ok());
  }
}

TEST_F(Deletion, AnEndedRunThatMayBeginAgainNeedsItsModel) {
  coordinator::Run failed = RunOf("failed", "/srv/runs/base/exported");
  failed.state = RunState::kFailed;
  cluster_.Set(failed);
  const Status refused = Delete({});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused).find("delete it first"), std::string::npos) << refused;
  cluster_.Delete(failed, {.id = failed.id});
  EXPECT_TRUE(Delete({}).ok());
  EXPECT_TRUE(cluster_.awaited_models.empty());
}

Event Annotation(RunAnnotated change) {
  return {.run = RunId("r"), .actor = "user", .request_id = "a", .body = std::move(change)};
}

TEST(Admission, AnAnnotationThatChangesNothingIsNotStored) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SampleSubmit("r", "1"), cluster).ok());  // with the label a=b
  for (const RunAnnotated& same :
       {RunAnnotated{.labels = {{"a", "b"}}}, RunAnnotated{.removed_labels = {"unknown"}},
        RunAnnotated{.note = ""}}) {
    const auto admission = Admit(cluster, Annotation(same));
    ASSERT_TRUE(admission.ok()) << admission.status();
    EXPECT_TRUE(admission->replayed && !admission->append);
  }
  const auto change = Admit(cluster, Annotation({.note = "a lower rate"}));
  ASSERT_TRUE(change.ok());
  EXPECT_TRUE(change->append);
  EXPECT_EQ(Admit(Cluster(), Annotation({.note = "x"})).status().code(), StatusCode::kNotFound);
}

TEST(Admission, ARunGetsNoMoreThanKRunLabelsMaxLabels) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SampleSubmit("r", "1"), cluster).ok());
  RunAnnotated many;
  for (size_t i = 0; i < kRunLabelsMax - 1; ++i) many.labels["k" + std::to_string(i)] = "v";
  ASSERT_TRUE(Admit(cluster, Annotation(many)).ok());
  ASSERT_TRUE(Apply(Annotation(many), cluster).ok());
  const auto refused = Admit(cluster, Annotation({.labels = {{"more", "v"}}}));
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(
      Admit(cluster, Annotation({.labels = {{"more", "v"}}, .removed_labels = {"a"}})).ok());
}

}  // namespace
}  // namespace gp::coordinator
