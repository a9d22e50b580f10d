// The live screen of `gpctl watch` without a real terminal; gpctl.Screens has one.
#include "client/gpctl/commands/watch_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class WatchScreenTest : public ::testing::Test {
 protected:
  WatchScreenTest() { runner_.environment["GPCTL_SERVER"] = service_.address(); }

  testing::FakeRunService service_;
  testing::GpctlRunner runner_;
};

TEST_F(WatchScreenTest, LeavesTheTerminalAsItWasAndTheRunAsItIs) {
  testing::PlayScene(service_);
  runner_.terminal = true;
  runner_.interrupt_when_out_contains = "tok/s";
  const testing::Outcome outcome = runner_.Run({"watch", "gpt2-fineweb"});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("\x1b[?1049h"), EndsWith("\x1b[?25h\x1b[?1049l")));
  EXPECT_THAT(outcome.err, HasSubstr("Detached. gpt2-fineweb continues."));
}

TEST_F(WatchScreenTest, LeavesTheLastNumbersOfAnEndedRunOnTheTerminal) {
  v1::Run run = testing::SceneRun();
  run.set_state(v1::RUN_STATE_SUCCEEDED);
  service_.AddRun(run);
  service_.SetWatch({run});
  runner_.terminal = true;
  const testing::Outcome outcome = runner_.Run({"watch", "gpt2-fineweb"});
  EXPECT_EQ(outcome.code, 0);
  const size_t left = outcome.out.find("\x1b[?1049l");
  ASSERT_NE(left, std::string::npos);
  EXPECT_THAT(outcome.out.substr(left), AllOf(HasSubstr("SUCCEEDED"), HasSubstr("checkpoint")));
}

TEST_F(WatchScreenTest, IsNotUsedWhereItCannotBeShown) {
  testing::PlayScene(service_);
  runner_.interrupt_when_out_contains = "tok/s";
  const std::vector<std::string> watch = {"watch", "gpt2-fineweb", "--interval", "100ms"};
  EXPECT_THAT(runner_.Run(watch).out, Not(HasSubstr("\x1b")));
  runner_.terminal = true;
  runner_.environment["NO_COLOR"] = "1";
  EXPECT_THAT(runner_.Run(watch).out, AllOf(HasSubstr("step 7362/19073"), Not(HasSubstr("\x1b"))));
  runner_.environment.erase("NO_COLOR");
  runner_.environment["TERM"] = "dumb";
  EXPECT_THAT(runner_.Run(watch).out, Not(HasSubstr("\x1b")));
  runner_.environment["TERM"] = "xterm";
  EXPECT_THAT(runner_.Run({"watch", "gpt2-fineweb", "--interval", "100ms", "--plain"}).out,
              Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace gp::gpctl
