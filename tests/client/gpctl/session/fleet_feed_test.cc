#include "client/gpctl/session/fleet_feed.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

TEST(FleetFeed, ReadsNodesRunsAndTheLossesOfTheirLastSteps) {
  testing::FakeRunService service;
  testing::PlayScene(service);
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  client::Interruption interruption;
  Console console{.in = in,
                  .out = out,
                  .err = err,
                  .interruption = interruption,
                  .clock = SystemClock(),
                  .environment = {{"HOME", "/nonexistent"}}};
  Session session({.server = service.address()}, console);
  client::Interruption news;
  const auto feed = FleetFeed::Open(
      std::chrono::milliseconds(20), [&] { news.Request(); }, session);
  ASSERT_TRUE(feed.ok()) << feed.status();
  size_t losses = 0;
  while (losses < 100) {
    ASSERT_TRUE((*feed)->status().ok());
    news.WaitFor(std::chrono::seconds(1));
    news.Reset();
    (*feed)->Read([&](const FleetModel& model) {
      const ThinnedCurve* curve = model.LossesOf("7f3k2q9a0c");
      losses = curve == nullptr ? 0 : curve->points().size();
      EXPECT_EQ(model.runs().size(), model.filled() ? 5u : 0u);
    });
  }
}

}  // namespace
}  // namespace gp::gpctl
