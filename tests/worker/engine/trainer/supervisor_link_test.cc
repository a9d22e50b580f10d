// A stop is noticed while the main thread does something else.
#include "worker/engine/trainer/supervisor_link.h"

#include <gtest/gtest.h>

#include <thread>

namespace gp::engine {
namespace {

TEST(SupervisorLink, WhoLostAPeerHearsOfAStopThatIsOnItsWay) {
  auto ends = link::Channel::MakePair();
  ASSERT_TRUE(ends.ok()) << ends.status();
  link::Channel supervisor(std::move(ends->first), "trainer");
  link::Channel channel(std::move(ends->second), "supervisor");
  SupervisorLink link(channel);
  EXPECT_FALSE(link.StopsWithin(std::chrono::milliseconds(0)));
  std::jthread stopping(
      [&] { EXPECT_TRUE(supervisor.Send(link::Stop{.reason = "cancelled"}).ok()); });
  EXPECT_TRUE(link.StopsWithin(std::chrono::minutes(1)));
  EXPECT_TRUE(link.StopsWithin(std::chrono::milliseconds(0)));
  stopping.join();
}

}  // namespace
}  // namespace gp::engine
