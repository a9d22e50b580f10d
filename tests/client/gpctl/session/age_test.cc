// Goal: --since counts back from the coordinator's clock, not from this machine's.
#include "client/gpctl/session/age.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

TEST(TimeAgo, CountsBackFromTheCoordinatorsClock) {
  FakeRunService service;
  service.SetClockAhead(std::chrono::hours(5));
  std::istringstream in;
  std::ostringstream out, err;
  client::Interruption interruption;
  gpctl::Console console{in, out, err, interruption, SystemClock()};
  gpctl::GlobalOptions options;
  options.server = service.address();
  gpctl::Session session(options, console);
  const auto at = gpctl::TimeAgo("2h", session);
  ASSERT_TRUE(at.ok()) << at.status();
  const double here =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(*at - here, 3 * 3600, 120) << "the fake's clock is 5 hours ahead";
  EXPECT_EQ(gpctl::TimeAgo("soon", session).status().code(), StatusCode::kInvalidArgument);
}

TEST(TimeAgo, LogsShowOnlyTheLinesOfThatTime) {
  FakeRunService service;
  GpctlRunner gpctl;
  gpctl.environment["GPCTL_SERVER"] = service.address();
  service.AddRun(MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service.AddLine("an old line");  // written in November 2025
  const Outcome old = gpctl.Run({"logs", "a", "--since", "10m"});
  EXPECT_EQ(old.code, 0) << old.err;
  EXPECT_EQ(old.out, "");
  EXPECT_THAT(old.err, HasSubstr("a has no log lines of the last 10m"));
  EXPECT_THAT(gpctl.Run({"logs", "a", "--since", "36500d"}).out, HasSubstr("an old line"));
  EXPECT_EQ(gpctl.Run({"logs", "a", "--since", "yesterday"}).code, 2);
}

}  // namespace
}  // namespace gp::testing
