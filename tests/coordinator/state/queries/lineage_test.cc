#include "coordinator/state/queries/lineage.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

class LineageTest : public ::testing::Test {
 protected:
  void Add(const std::string& id, const std::string& parent) {
    coordinator::Run run;
    run.id = RunId(id);
    run.submitted_sequence = ++submitted_;
    run.state = RunState::kSucceeded;
    Submission submission = SampleSubmission();
    submission.parent_run = parent;
    run.submission = std::make_shared<const Submission>(submission);
    run.checkpoints.push_back(
        {{.step = 10, .directory = "/storage/runs/" + id + "/checkpoints/c"}});
    cluster_.Set(run);
  }
  std::set<RunId> Of(const std::string& id) const { return RelativesOf(cluster_, RunId(id)); }
  static std::set<RunId> Ids(const std::vector<std::string>& names) {
    std::set<RunId> ids;
    for (const std::string& name : names) ids.emplace(name);
    return ids;
  }

  Cluster cluster_;
  uint64_t submitted_ = 0;
};

TEST_F(LineageTest, HasAncestorsAndAllThatBeganFromThem) {
  Add("base", "");
  Add("child", "base");
  Add("grandchild", "child");
  Add("sibling", "base");
  Add("other", "");
  for (const char* id : {"base", "child", "grandchild", "sibling"}) {
    EXPECT_EQ(Of(id), Ids({"base", "child", "grandchild", "sibling"})) << id;
  }
  EXPECT_EQ(Of("other"), Ids({"other"}));
}

TEST_F(LineageTest, LeadsThroughADeletedRunWhoseCheckpointsAreKept) {
  Add("base", "");
  Add("middle", "base");
  Add("child", "middle");
  Add("sibling", "middle");
  ASSERT_TRUE(
      Apply({.run = RunId("middle"), .body = RunDeleted{.keep_checkpoints = true}}, cluster_).ok());
  EXPECT_EQ(Of("child"), Ids({"base", "child", "sibling"}));
}

TEST_F(LineageTest, ADamagedCircleEnds) {
  Add("a", "b");
  Add("b", "a");
  EXPECT_EQ(Of("a"), Ids({"a", "b"}));
}

}  // namespace
}  // namespace gp::coordinator
