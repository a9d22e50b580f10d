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
