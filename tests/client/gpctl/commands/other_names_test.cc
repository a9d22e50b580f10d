// Goal: who types a command of another tool reads what to type here, and only commands that exist.
#include "client/gpctl/commands/other_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

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

// Each command that the text names exists, with its flags.
void ExpectCommands(const std::string& text, GpctlRunner& gpctl) {
  const std::regex command("gpctl ([a-z]+)((?: [^ ,]+)*)");
  int found = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), command), end; it != end; ++it) {
    const Outcome help = gpctl.Run({"help", (*it)[1]});
    EXPECT_EQ(help.code, 0) << it->str();
    const std::string words = (*it)[2];
    const std::regex flag("--[a-z-]+");
    for (std::sregex_iterator at(words.begin(), words.end(), flag); at != end; ++at) {
      EXPECT_THAT(help.out, HasSubstr(at->str())) << it->str();
    }
    ++found;
  }
  EXPECT_GT(found, 0) << text;
}

TEST(OtherNames, GpctlAnswersWithThem) {
  GpctlRunner gpctl;
  for (const char* word : {"ls", "get", "describe", "rm", "stop", "kill", "diff", "tail", "cat",
                           "show", "cp", "history", "scale", "train", "start"}) {
    const Outcome outcome = gpctl.Run({word, "x"});
    EXPECT_EQ(outcome.code, 2) << word;
    EXPECT_THAT(outcome.err, HasSubstr("there is no command '" + std::string(word) + "': gpctl "));
    ExpectCommands(outcome.err, gpctl);
  }
  EXPECT_THAT(gpctl.Run({"diff", "a", "b"}).err, HasSubstr("gpctl compare RUN RUN"));
  EXPECT_THAT(gpctl.Run({"lst"}).err, HasSubstr("did you mean 'list'?"));
  EXPECT_THAT(gpctl.Run({"ps"}).err, Not(HasSubstr("no command"))) << "another name of list";
}

}  // namespace
}  // namespace gp::testing
