// Goal: a file of settings is read like an environment file, and a wrong line is named.
#include "client/gpctl/session/setting_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SettingFileTest : public ::testing::Test {
 protected:
  SettingFileTest() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    for (int i = 0; i < 20'000; ++i) text_ += "some text\n";
    Write("in.txt", text_);
    Write(
        "run.yaml",
        "apiVersion: gp/v1\nname: tiny\npreset: tiny\ndata: {text: [in.txt], tokenizer: bytes}\n");
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(gpctl_.home() + "/" + name) << text;
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
  std::string text_;
};

TEST_F(SettingFileTest, SettingsOfFilesComeBeforeThoseOfTheCommandLine) {
  Write("a.env", "# a comment\n\n optimizer.lr = 3e-4 \r\nlabels.goal=a = b\n");
  Write("b.env", "seed=7\n");
  const Outcome outcome = gpctl_.Run(
      {"submit", "run.yaml", "--set", "seed=8", "--set-file", "a.env", "--set-file", "b.env"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const v1::SubmitRequest sent = service_.last_submit();
  EXPECT_THAT(sent.overrides(),
              ElementsAre("optimizer.lr=3e-4", "labels.goal=a = b", "seed=7", "seed=8"));
}

TEST_F(SettingFileTest, AWrongLineAndAMissingFileAreNamed) {
  Write("a.env", "seed=7\nsteps 100\n");
  for (const char* command : {"submit", "validate", "run"}) {
    const Outcome outcome = gpctl_.Run({command, "run.yaml", "--set-file", "a.env"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("a.env:2: expected KEY=VALUE"));
    EXPECT_THAT(gpctl_.Run({command, "run.yaml", "--set-file", "none.env"}).err,
                HasSubstr("--set-file"));
  }
  Write("a.env", "seed=x\n");
  EXPECT_THAT(gpctl_.Run({"validate", "run.yaml", "--set-file", "a.env"}).err, HasSubstr("seed"));
}

TEST_F(SettingFileTest, AWrongSettingIsNamedWithItsLine) {
  Write("a.env", "# mine\noptimizer.lrr=1\n");
  Write("b.env", "\n\nsteps=x\noptimizer.lr=-1\nbudget.steps=few\n");
  for (const char* command : {"submit", "validate", "run"}) {
    const Outcome outcome = gpctl_.Run({command, "run.yaml", "--set-file", "a.env", "--set-file",
                                        "b.env", "--set", "optimizer.weight_decai=1"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("a.env:2: unknown key 'optimizer.lrr'"));
    EXPECT_THAT(outcome.err, HasSubstr("b.env:3: unknown key 'steps'"));
    EXPECT_THAT(outcome.err, HasSubstr("b.env:5: budget.steps must be "));
    EXPECT_THAT(outcome.err, HasSubstr("--set optimizer.weight_decai: unknown key"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("--set optimizer.lr")));
  }
  Write("a.env", "\noptimizer.lr=-1\n");
  EXPECT_THAT(gpctl_.Run({"validate", "run.yaml", "--set-file", "a.env"}).err,
              HasSubstr("a.env:2: optimizer.lr"));
  EXPECT_THAT(
      gpctl_.Run({"validate", "run.yaml", "--set-file", "a.env", "--set", "optimizer.lr=-2"}).err,
      HasSubstr("--set optimizer.lr: "));
}

TEST_F(SettingFileTest, AWrongSettingOfAServiceIsNamedWithItsLine) {
  const gpctl::Settings settings{
      {"seed=1", "eval.every=x", "eval.every=y", "schedule.decay_steps=1"},
      {"a.env:1", "a.env:2", "b.env:4", ""}};
  const auto text = [&](const std::string& problem) {
    return Message(gpctl::NamingFiles(InvalidArgument("{}", problem), settings));
  };
  EXPECT_EQ(
      text("error: --set eval.every: must be a number\nerror: --set schedule.decay_steps: no"),
      "error: b.env:4: eval.every: must be a number\nerror: --set schedule.decay_steps: no");
  EXPECT_EQ(text("seed: a run that goes on may change only eval"),
            "a.env:1: seed: a run that goes on may change only eval");
}

TEST_F(SettingFileTest, RunSubmitsAndFollows) {
  v1::Run done = MakeRun("tiny", "abcdefgh01", v1::RUN_STATE_SUCCEEDED);
  service_.SetWatch({done});
  const Outcome outcome = gpctl_.Run({"run", "--", "run.yaml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("(abcdefgh01): "));
  EXPECT_THAT(outcome.out, HasSubstr("tiny succeeded"));
  EXPECT_EQ(gpctl_.Run({"run", "run.yaml", "--name", "mine"}).code, 0);
  EXPECT_EQ(service_.last_submit().name(), "mine");
}

}  // namespace
}  // namespace gp::testing
