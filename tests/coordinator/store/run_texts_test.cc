#include "coordinator/store/run_texts.h"

#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/state/initial_model.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // a fixture has a method Run

// A run that was submitted, cancelled and continued, in a store and in a cluster.
class RunTexts : public ::testing::Test {
 protected:
  void Append(const Event& event) {
    ASSERT_TRUE(store_.Append({event}).ok());
    ASSERT_TRUE(Apply(event, cluster_).ok());
  }
  void SetUp() override {
    Event submit = SampleSubmit("r", "request-1");
    std::get<RunSubmitted>(submit.body).submission.resolved = "init_from: /models/a\n";
    Append(submit);
  }
  void End() {
    Append({.run = RunId("r"), .body = CancelRequested{}});
    Append({.run = RunId("r"), .body = RunEnded{RunState::kCancelled, "cancelled"}});
  }
  std::shared_ptr<const RunValue> run() const { return cluster_.FindRun(RunId("r")); }

  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  Cluster cluster_;
};

TEST_F(RunTexts, ALiveRunHasThem) { EXPECT_EQ(WithTexts(store_, run()).value(), run()); }

TEST_F(RunTexts, OfAnEndedRunComeFromTheStore) {
  End();
  EXPECT_EQ(run()->submission->source, "");
  EXPECT_EQ(run()->submission->resolved, "");
  EXPECT_LT(run()->submission->resolved.capacity(), 16u) << "its memory is free";
  EXPECT_EQ(InitialModelOf(*run()->submission), "/models/a");
  const auto whole = WithTexts(store_, run()).value();
  EXPECT_EQ(whole->submission->source, SampleSubmission().source);
  EXPECT_EQ(whole->submission->resolved, "init_from: /models/a\n");
  EXPECT_EQ(InitialModelOf(*whole->submission), "/models/a");
}

TEST_F(RunTexts, OfEachLegAreItsOwn) {
  End();
  Submission longer = SampleSubmission();
  longer.resolved = "seed: 2\n";
  Append({.run = RunId("r"),
          .request_id = "leg-2",
          .body = LegRequested{longer, std::nullopt, "extended"}});
  EXPECT_EQ(run()->submission->resolved, "seed: 2\n");
  auto whole = WithTexts(store_, run()).value();
  EXPECT_EQ(whole->ended_legs.front().submission->resolved, "init_from: /models/a\n");
  End();
  EXPECT_EQ(run()->submission->resolved, "");
  whole = WithTexts(store_, run()).value();
  EXPECT_EQ(whole->submission->resolved, "seed: 2\n");
  EXPECT_EQ(whole->ended_legs.front().submission->resolved, "init_from: /models/a\n");
}

TEST_F(RunTexts, OfAnEndedLegOfALiveRunComeFromTheStore) {
  Submission longer = SampleSubmission();
  longer.resolved = "seed: 2\n";
  Append({.run = RunId("r"),
          .request_id = "leg-2",
          .body = LegRequested{longer, std::nullopt, "extended"}});
  EXPECT_FALSE(IsTerminal(run()->state));
  EXPECT_EQ(run()->ended_legs.front().submission->resolved, "");
  const auto whole = WithTexts(store_, run()).value();
  EXPECT_EQ(whole->submission->resolved, "seed: 2\n");
  EXPECT_EQ(whole->ended_legs.front().submission->resolved, "init_from: /models/a\n");
}

TEST_F(RunTexts, OfAnotherStoreAreNotGuessed) {
  End();
  MemoryStore::Disk other;
  MemoryStore empty(other);
  EXPECT_EQ(WithTexts(empty, run()).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gp::coordinator
