#include "base/failpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

TEST(Failpoint, ReadsNameAndPassage) {
  const auto setting = ParseFailpoint("store.after_commit:kill@3");
  ASSERT_TRUE(setting.ok());
  EXPECT_EQ(setting->name, "store.after_commit");
  EXPECT_EQ(setting->passage, 3u);
  EXPECT_EQ(ParseFailpoint("a:kill")->passage, 1u);
  EXPECT_EQ(ParseFailpoint("")->name, "");
  EXPECT_FALSE(setting->hangs);
  EXPECT_TRUE(ParseFailpoint("a:hang@2")->hangs);
  EXPECT_EQ(ParseFailpoint("a:hang@2")->passage, 2u);
}

TEST(Failpoint, RefusesOtherForms) {
  for (const char* text :
       {"a", ":kill", "a:die", "a:kill@", "a:kill@0", "a:kill@x", "a:kill3", "a:hang@"}) {
    EXPECT_FALSE(ParseFailpoint(text).ok()) << text;
  }
}

void PassThreeTimes(const char* setting, const char* once_path) {
  setenv("GP_FAILPOINT", setting, 1);
  setenv("GP_FAILPOINT_ONCE", once_path, 1);
  for (int i = 0; i < 3; ++i) Failpoint("place");
  _exit(7);
}

TEST(FailpointDeathTest, KillsAtTheArmedPassageOnly) {
  EXPECT_EXIT(PassThreeTimes("place:kill@3", ""), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(PassThreeTimes("place:kill@4", ""), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(PassThreeTimes("elsewhere:kill", ""), testing::ExitedWithCode(7), "");
}

TEST(FailpointDeathTest, KillsOnceWhenAskedTo) {
  const TemporaryDirectory directory;
  const std::string marker = directory.File("once");
  EXPECT_EXIT(PassThreeTimes("place:kill", marker.c_str()), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(PassThreeTimes("place:kill", marker.c_str()), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace gp
