// Goal: who types a command of another tool reads what to type here, and only commands that exist.
#include "client/gpctl/commands/other_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(OtherNames, OnlyCommandsThatExistAreNamed) {
  EXPECT_EQ(gpctl::CalledHere("rm", {"cancel", "delete"}),
            "gpctl delete RUN removes an ended run and its files, gpctl cancel RUN ends one that "
            "has not ended");
  EXPECT_EQ(gpctl::CalledHere("rm", {"cancel"}), "gpctl cancel RUN ends one that has not ended");
  EXPECT_EQ(gpctl::CalledHere("rm", {}), "");
  EXPECT_EQ(gpctl::CalledHere("frobnicate", {"list"}), "");
}

TEST(OtherNames, GpctlAnswersWithThem) {
  GpctlRunner gpctl;
  for (const char* word : {"ls", "get", "describe", "rm", "stop", "kill", "diff", "train"}) {
    const Outcome outcome = gpctl.Run({word, "x"});
    EXPECT_EQ(outcome.code, 2) << word;
    if (std::string(word) == "diff" && outcome.err.find("compare") == std::string::npos) continue;
    EXPECT_THAT(outcome.err, HasSubstr("there is no command '" + std::string(word) + "': gpctl "));
  }
  EXPECT_THAT(gpctl.Run({"lst"}).err, HasSubstr("did you mean 'list'?"));
  EXPECT_THAT(gpctl.Run({"ps"}).err, Not(HasSubstr("no command"))) << "another name of list";
}

}  // namespace
}  // namespace gp::testing
