#include "rpc/grpc_log.h"

#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fakes/fake_clock.h"

namespace gp::rpc {
namespace {

TEST(LineBudget, LetsSoManyLinesAMinuteThroughAndCountsTheOthers) {
  FakeClock clock;
  LineBudget budget(clock, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(budget.Take(), 0u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(budget.Take(), std::nullopt);
  clock.Advance(std::chrono::seconds(59));
  EXPECT_EQ(budget.Take(), std::nullopt);
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(budget.Take(), 101u);
  EXPECT_EQ(budget.Take(), 0u);
}

TEST(DropGrpcLog, LeavesNoLine) {
  unsetenv("GRPC_VERBOSITY");
  unsetenv("GRPC_TRACE");
  DropGrpcLog();
  testing::internal::CaptureStderr();
  gpr_log(GPR_ERROR, "Handshake failed");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace gp::rpc
