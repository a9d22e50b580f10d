#include "client/gpctl/faults/fault_service.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "base/clock.h"

namespace gp::gpctl {
namespace {

class FaultServiceTest : public ::testing::Test {
 protected:
  FaultServiceTest() {
    console_.program_directory = std::getenv("GP_BIN");
    console_.environment["TMPDIR"] = ::testing::TempDir();
  }

  SystemClock clock_;
  client::Interruption interruption_;
  std::istringstream in_;
  Console console_{.in = in_,
                   .out = std::cout,
                   .err = std::cerr,
                   .interruption = interruption_,
                   .clock = clock_};
};

TEST_F(FaultServiceTest, StartsWhatWasKilledAndLeavesNothing) {
  std::string directory;
  {
    FaultService service(console_);
    const Status started = service.Start(/*agents=*/2, /*slots=*/1);
    ASSERT_TRUE(started.ok()) << started;
    directory = service.directory();
    EXPECT_TRUE(FileExists(directory));
    EXPECT_TRUE(service.Trainers().empty());
    service.KillAgent(1);
    EXPECT_TRUE(service.StartDeadAgents().ok());
    service.KillCoordinator();
    EXPECT_TRUE(service.StartCoordinator().ok());
  }
  EXPECT_FALSE(FileExists(directory));
}

TEST_F(FaultServiceTest, ADaemonThatCannotBeStartedIsNamed) {
  console_.program_directory = "/nonexistent";
  FaultService service(console_);
  const Status started = service.Start(1, 1);
  ASSERT_FALSE(started.ok());
  EXPECT_NE(Message(started).find("gp-coordinator"), std::string::npos) << started;
}

TEST_F(FaultServiceTest, AnInterruptionEndsTheStart) {
  interruption_.Request();
  FaultService service(console_);
  EXPECT_EQ(service.Start(1, 1).code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace gp::gpctl
