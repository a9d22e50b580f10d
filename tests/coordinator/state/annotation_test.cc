// Goal: labels and the note of a run are what users made of them last, also after its end.
#include "coordinator/state/annotation.h"

#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using Labels = std::map<std::string, std::string>;

TEST(Annotation, SetsAndRemovesLabelsAndReplacesTheNote) {
  Cluster cluster;
  const RunId id("r");
  const auto annotate = [&](const RunAnnotated& change) {
    const Status status = Apply({.run = id, .body = change}, cluster);
    EXPECT_TRUE(status.ok()) << status;
    return cluster.FindRun(id);
  };
  ASSERT_TRUE(Apply(SampleSubmit("r", "1"), cluster).ok());
  EXPECT_EQ(cluster.FindRun(id)->labels, (Labels{{"a", "b"}}));
  const auto first = annotate({.labels = {{"a", "c"}, {"team", "x"}}, .note = "one"});
  EXPECT_EQ(first->labels, (Labels{{"a", "c"}, {"team", "x"}}));
  EXPECT_EQ(first->note, "one");
  EXPECT_EQ(first->submission->labels, (Labels{{"a", "b"}})) << "what was submitted stays";
  const auto second = annotate({.removed_labels = {"a", "unknown"}});
  EXPECT_EQ(second->labels, (Labels{{"team", "x"}}));
  EXPECT_EQ(second->note, "one");
  EXPECT_EQ(annotate({.note = ""})->note, "");
}

TEST(Annotation, AnEndedRunKeepsItsStateAndItsEnd) {
  Cluster cluster;
  for (const Event& event : OneOfEachKind()) ASSERT_TRUE(Apply(event, cluster).ok());
  const auto run = cluster.FindRun(kSampleRun);
  EXPECT_EQ(run->state, RunState::kCancelled);
  EXPECT_TRUE(run->finished_at.has_value());
  EXPECT_EQ(run->labels, (Labels{{"team", "research"}}));
  EXPECT_EQ(run->note, "a lower rate");
}

TEST(Annotation, ALegKeepsThem) {
  Cluster cluster;
  for (const Event& event : OneOfEachKind()) ASSERT_TRUE(Apply(event, cluster).ok());
  const Event leg{kSampleRun, At(9), "user", "leg", LegRequested{SampleSubmission(), 20, "more"}};
  ASSERT_TRUE(Apply(leg, cluster).ok());
  EXPECT_EQ(cluster.FindRun(kSampleRun)->labels, (Labels{{"team", "research"}}));
  EXPECT_EQ(cluster.FindRun(kSampleRun)->note, "a lower rate");
}

}  // namespace
}  // namespace gp::coordinator
