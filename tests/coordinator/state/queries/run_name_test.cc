#include "coordinator/state/queries/run_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

// A cluster in which runs are submitted and ended by name.
class RunNameTest : public testing::Test {
 protected:
  void Submit(const std::string& id, const std::string& name, const std::string& of = "default") {
    Event event = SampleSubmit(id, id);
    Submission& submission = std::get<RunSubmitted>(event.body).submission;
    submission.name = name;
    submission.run_namespace = of;
    ASSERT_TRUE(Apply(event, cluster_).ok());
  }
  void Cancel(const std::string& id) {
    for (const EventBody& body :
         {EventBody(CancelRequested{}), EventBody(RunEnded{RunState::kCancelled, "by the user"})}) {
      ASSERT_TRUE(Apply({.run = RunId(id), .at = At(9), .body = body}, cluster_).ok());
    }
  }
  std::string Free(const std::string& name) { return FreeRunName(cluster_, "default", name); }

  Cluster cluster_;
};

TEST_F(RunNameTest, IsTheWantedOneWhereNoLiveRunHasIt) {
  EXPECT_EQ(Free("a"), "a");
  Submit("id1", "a");
  EXPECT_EQ(Free("b"), "b");
  EXPECT_EQ(FreeRunName(cluster_, "team", "a"), "a");
  Cancel("id1");
  EXPECT_EQ(Free("a"), "a");
  EXPECT_EQ(WhyNameIsTaken(cluster_, "default", "a"), "");
}

TEST_F(RunNameTest, GetsANumberWhileALiveRunHasIt) {
  Submit("id1", "a");
  EXPECT_EQ(WhyNameIsTaken(cluster_, "default", "a"),
            "the name 'a' belongs to run id1, which has not ended");
  EXPECT_EQ(Free("a"), "a-2");
  Submit("id2", "a-2");
  EXPECT_EQ(Free("a"), "a-3");
  Cancel("id1");
  EXPECT_EQ(Free("a"), "a");
}

TEST_F(RunNameTest, ManyRunsOfOneFileAreCountedUp) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = Free("sweep");
    EXPECT_EQ(name, i == 0 ? "sweep" : "sweep-" + std::to_string(i + 1));
    Submit("id" + std::to_string(i), name);
  }
}

// An older version allowed two live runs with the same name.
TEST_F(RunNameTest, StaysTakenUntilTheLastOfItsRunsEnds) {
  Submit("id1", "a");
  Submit("id2", "a");
  Cancel("id1");
  EXPECT_THAT(WhyNameIsTaken(cluster_, "default", "a"), HasSubstr("id2"));
  Cancel("id2");
  EXPECT_EQ(Free("a"), "a");
}

TEST_F(RunNameTest, IsNeverTheIdOfARun) {
  Submit("id1", "a");
  EXPECT_EQ(WhyNameIsTaken(cluster_, "default", "id1"), "'id1' is the id of a run");
  EXPECT_EQ(Free("id1"), "id1-2");
}

TEST_F(RunNameTest, ALongNameKeepsWithinItsLimit) {
  const std::string longest(63, 'x');
  Submit("id1", longest);
  EXPECT_EQ(Free(longest), std::string(61, 'x') + "-2");
}

}  // namespace
}  // namespace gp::coordinator
