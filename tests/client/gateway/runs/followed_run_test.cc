// FollowedRun against a fake coordinator. RunBoard's tests cover the data that pages get from it.
#include "client/gateway/runs/followed_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "lib/base/eventually.h"

namespace gp::gateway {
namespace {

using ::testing::SizeIs;

TEST(FollowedRun, ARefreshThatFailedAfterAnEventIsRepeatedAtOnce) {
  testing::FakeRunService service;
  const v1::Run run = testing::MakeRun("demo", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  service.AddRun(run);
  client::Interruption interruption;
  client::RunClient client({.address = service.address(), .timeout = kPatience}, interruption);
  client::RunStreams streams(service.address());
  FollowedRun followed(client, streams, [](FollowedRun::News) {});
  ASSERT_TRUE(Eventually([&] {
    followed.Tend(run);
    return followed.Details() != nullptr;
  }));
  EXPECT_THAT(followed.Details()->checkpoints, SizeIs(0));
  interruption.Request();  // from here on calls fail, but streams continue
  v1::Checkpoint checkpoint;
  checkpoint.set_run_id(run.run_id());
  checkpoint.set_step(100);
  service.AddCheckpoint(checkpoint);
  service.AddEvent(run.state(), "checkpoint_sealed", "step 100");
  ASSERT_TRUE(Eventually([&] {
    followed.Tend(run);
    return followed.Details()->events.size() == 1;
  }));
  followed.Tend(run);
  EXPECT_THAT(followed.Details()->checkpoints, SizeIs(0));
  interruption.Reset();
  followed.Tend(run);
  EXPECT_THAT(followed.Details()->checkpoints, SizeIs(1)) << "without a wait of 10 s";
}

TEST(FollowedRun, AnEndedRunThatGoesOnWithAnotherLegIsFollowedAgain) {
  testing::FakeRunService service;
  v1::Run run = testing::MakeRun("demo", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED);
  service.AddRun(run);
  service.SetWatch({run});
  service.AddEvent(run.state(), "ended", "trained to step 30");
  client::Interruption interruption;
  client::RunClient client({.address = service.address(), .timeout = kPatience}, interruption);
  client::RunStreams streams(service.address());
  FollowedRun followed(client, streams, [](FollowedRun::News) {});
  const auto events = [&] {
    followed.Tend(run);
    return followed.Details() == nullptr ? 0 : followed.Details()->events.size();
  };
  ASSERT_TRUE(Eventually([&] { return events() == 1; }));
  for (int i = 0; i < 3; ++i) followed.Tend(run);  // the streams have ended
  run.set_state(v1::RUN_STATE_QUEUED);
  service.AddRun(run);
  service.SetWatch({run});
  service.AddEvent(run.state(), "leg_requested", "extended to 50 steps");
  EXPECT_TRUE(Eventually([&] { return events() == 2; }));
}

}  // namespace
}  // namespace gp::gateway
