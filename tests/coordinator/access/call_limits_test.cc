#include "coordinator/access/call_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

class CallLimitsTest : public ::testing::Test {
 protected:
  int CallsUntilRefused(const std::string& user) {
    int calls = 0;
    while (limits_.AdmitCall(user).ok()) ++calls;
    return calls;
  }

  FakeClock clock_;
  CallLimits limits_{clock_, {.calls_per_second = 10, .streams = 2}};
};

TEST_F(CallLimitsTest, AUserHasABurstAndThenARate) {
  EXPECT_EQ(CallsUntilRefused("a"), 20);
  clock_.Advance(std::chrono::milliseconds(550));
  EXPECT_EQ(CallsUntilRefused("a"), 5);
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(CallsUntilRefused("a"), 20);
  const Status refused = limits_.AdmitCall("a");
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(gp::Message(refused), HasSubstr("limits.calls_per_second"));
}

TEST_F(CallLimitsTest, OneUserTakesNothingFromAnother) {
  CallsUntilRefused("a");
  EXPECT_EQ(CallsUntilRefused("b"), 20);
}

TEST_F(CallLimitsTest, AStreamsPlaceComesBack) {
  auto first = limits_.ReserveStream("a").value();
  const auto second = limits_.ReserveStream("a").value();
  const Status refused = limits_.ReserveStream("a").status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(gp::Message(refused), HasSubstr("limits.streams"));
  EXPECT_TRUE(limits_.ReserveStream("b").ok());
  first.reset();
  EXPECT_TRUE(limits_.ReserveStream("a").ok());
}

TEST_F(CallLimitsTest, ManyUsersAreForgottenButNoStreamIs) {
  const auto held = limits_.ReserveStream("holder").value();
  const auto more = limits_.ReserveStream("holder").value();
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(limits_.AdmitCall("user-" + std::to_string(i)).ok());
    clock_.Advance(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(limits_.ReserveStream("holder").ok());
}

}  // namespace
}  // namespace gp::coordinator
