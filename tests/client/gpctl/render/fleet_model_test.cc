#include "client/gpctl/render/fleet_model.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

v1::ListResponse Listed(int64_t step, double loss) {
  v1::ListResponse listed;
  v1::Run& run = *listed.add_runs();
  run.set_run_id("a");
  run.mutable_progress()->set_step(step);
  run.mutable_progress()->set_loss(loss);
  return listed;
}

TEST(FleetModel, CollectsLossesAfterThoseBefore) {
  FleetModel model;
  EXPECT_FALSE(model.filled());
  model.Apply(Listed(100, 3), 0);
  ASSERT_EQ(model.RunsWithoutHistory().size(), 1u);
  model.Apply(Listed(101, 2), 0);
  ThinnedCurve before;
  for (int64_t step = 90; step <= 100; ++step) before.Add(step, 4);
  model.Apply("a", before);
  EXPECT_TRUE(model.RunsWithoutHistory().empty());
  model.Apply(Listed(101, 2), 0);  // no step since
  const ThinnedCurve* losses = model.LossesOf("a");
  ASSERT_NE(losses, nullptr);
  ASSERT_EQ(losses->points().size(), 12u);
  EXPECT_EQ(losses->points()[10].value, 3) << "of step 100, as it was listed";
  EXPECT_EQ(losses->points().back().step, 101);
}

TEST(FleetModel, ForgetsRunsThatAreNotListedAnyMore) {
  FleetModel model;
  model.Apply(Listed(100, 3), 0);
  model.Apply(v1::ListResponse(), 7);
  EXPECT_EQ(model.LossesOf("a"), nullptr);
  EXPECT_EQ(model.more_runs(), 7);
  model.Apply("a", ThinnedCurve());
  EXPECT_EQ(model.LossesOf("a"), nullptr);
}

TEST(FleetModel, ARunBeforeItsFirstStepHasNoLosses) {
  FleetModel model;
  model.Apply(Listed(0, 0), 0);
  EXPECT_EQ(model.LossesOf("a"), nullptr);
  EXPECT_TRUE(model.RunsWithoutHistory().empty());
}

TEST(FleetModel, ANoticeStaysUntilThereIsNews) {
  FleetModel model;
  model.SetNotice("the coordinator cannot be reached");
  EXPECT_FALSE(model.notice().empty());
  model.Apply(v1::NodesResponse());
  EXPECT_TRUE(model.notice().empty());
}

}  // namespace
}  // namespace gp::gpctl
