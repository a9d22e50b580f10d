// Goal: each state has a name, and each name can be mapped back to its state.
#include "client/api/run_state_name.h"

#include <gtest/gtest.h>

namespace gp::client {
namespace {

TEST(RunStateName, EveryStateIsNamedBothWays) {
  for (int number = v1::RunState_MIN + 1; number <= v1::RunState_MAX; ++number) {
    if (!v1::RunState_IsValid(number)) continue;
    const auto state = static_cast<v1::RunState>(number);
    EXPECT_EQ(StateNamed(StateName(state)), state);
  }
  EXPECT_EQ(StateName(v1::RUN_STATE_RUNNING), "running");
}

TEST(RunStateName, AWordOrNumberThatIsNoStateIsUnknown) {
  EXPECT_EQ(StateNamed("sleeping"), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_EQ(StateName(static_cast<v1::RunState>(1000)), "unknown");
}

}  // namespace
}  // namespace gp::client
