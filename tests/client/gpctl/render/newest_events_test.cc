#include "client/gpctl/render/newest_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;

class NewestEventsTest : public testing::Test {
 protected:
  void Add(const std::string& kind, const std::string& reason) {
    v1::RunEvent event;
    event.set_kind(kind);
    event.set_reason(reason);
    newest_.Add(event);
  }

  std::vector<std::string> Reasons() const {
    std::vector<std::string> reasons;
    for (const v1::RunEvent& event : newest_.events()) reasons.push_back(event.reason());
    return reasons;
  }

  NewestEvents newest_;
};

TEST_F(NewestEventsTest, KeepsTheLastFiveInOrder) {
  for (const char* reason : {"a", "b", "c", "d", "e", "f"}) Add("rank_failed", reason);
  EXPECT_THAT(Reasons(), ElementsAre("b", "c", "d", "e", "f"));
}

TEST_F(NewestEventsTest, FoldsSealsThatFollowEachOther) {
  Add("run_started", "started");
  for (const char* step : {"10", "20", "30"}) {
    Add("checkpoint_sealed", std::string("step ") + step);
    Add("checkpoint_retired", "an older one");
  }
  EXPECT_THAT(Reasons(), ElementsAre("started", "3 checkpoints sealed, the newest: step 30"));
}

TEST_F(NewestEventsTest, BeginsAnewAfterAnotherEvent) {
  Add("checkpoint_sealed", "step 10");
  Add("rank_failed", "killed");
  Add("checkpoint_sealed", "step 20");
  EXPECT_THAT(Reasons(), ElementsAre("step 10", "killed", "step 20"));
}

}  // namespace
}  // namespace gp::gpctl
