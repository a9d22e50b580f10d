#include "client/gpctl/commands/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TopTest : public ::testing::Test {
 protected:
  TopTest() {
    testing::PlayScene(service_);
    runner_.environment["GPCTL_SERVER"] = service_.address();
  }

  testing::FakeRunService service_;
  testing::GpctlRunner runner_;
};

TEST_F(TopTest, PrintsTheTablesOnceWithoutATerminal) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"top"}, {"watch"}, {"watch", "--plain"}, {"top", "--once"}}) {
    const testing::Outcome outcome = runner_.Run(command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("gpt2-fineweb"), HasSubstr("needs 16 slots"),
                                   HasSubstr("node-a"), Not(HasSubstr("\x1b"))));
  }
}

TEST_F(TopTest, IsOneDocumentAsJson) {
  const auto document = nlohmann::json::parse(runner_.Run({"top", "-o", "json"}).out);
  EXPECT_EQ(document["kind"], "Fleet");
  EXPECT_EQ(document["nodes"][0]["load"]["busy_cores"], 3.8);
  EXPECT_EQ(document["nodes"][0]["slots"][0]["use"]["cores"], 1.9);
  EXPECT_FALSE(document["nodes"][3].contains("load"));
  EXPECT_EQ(document["runs"][0]["name"], "gpt2-fineweb");
  EXPECT_EQ(document["runs"][0]["use"]["cores"], 7.6);
}

TEST_F(TopTest, TakesTheTerminalAndGivesItBack) {
  runner_.terminal = true;
  runner_.interrupt_when_out_contains = "node-d";
  const testing::Outcome outcome = runner_.Run({"top"});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("\x1b[?1049h"), EndsWith("\x1b[?1049l")));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(TopTest, RefusesAnIntervalThatIsNone) {
  EXPECT_EQ(runner_.Run({"top", "--interval", "soon"}).code, 2);
}

}  // namespace
}  // namespace gp::gpctl
