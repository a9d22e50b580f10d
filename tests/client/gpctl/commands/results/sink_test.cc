#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

class SinkTest : public ::testing::Test {
 protected:
  SinkTest() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    gpctl_.environment["PATH"] = gpctl_.home();
    service_.AddRun(MakeRun("base", "aaaaaaaaaa", v1::RUN_STATE_RUNNING));
    service_.AddRun(MakeRun("other", "bbbbbbbbbb", v1::RUN_STATE_RUNNING));
  }

  // A stand-in that prints its arguments.
  void Install(const std::string& end) {
    const std::string path = gpctl_.home() + "/gp-sink";
    std::ofstream(path) << "#!/bin/sh\necho \"$*\"\n" << end << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(SinkTest, SaysHowToInstallTheProgram) {
  const Outcome outcome = gpctl_.Run({"sink", "wandb", "base"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("pip install \"./client/python[wandb]\""));
  EXPECT_THAT(gpctl_.Run({"sink", "mlflow", "base", "--to", "http://127.0.0.1:5000"}).err,
              HasSubstr("pip install \"./client/python[mlflow]\""));
}

TEST_F(SinkTest, PassesTheRunsTheirServiceAndTheFlags) {
  Install("exit 0");
  const Outcome wandb = gpctl_.Run(
      {"sink", "wandb", "base", "other", "-o", "out", "--follow", "--server", service_.address()});
  ASSERT_EQ(wandb.code, 0) << wandb.err;
  EXPECT_EQ(wandb.out, "wandb --output=out --project=gp --follow --server=" + service_.address() +
                           " aaaaaaaaaa bbbbbbbbbb\n");
  const Outcome mlflow =
      gpctl_.Run({"sink", "mlflow", "base", "--to", "http://127.0.0.1:5000", "--experiment", "lm"});
  ASSERT_EQ(mlflow.code, 0) << mlflow.err;
  EXPECT_EQ(mlflow.out, "mlflow --to=http://127.0.0.1:5000 --experiment=lm aaaaaaaaaa\n");
}

TEST_F(SinkTest, EndsWithTheProgramsExitCode) {
  Install("exit 6");
  EXPECT_EQ(gpctl_.Run({"sink", "wandb", "base"}).code, 6);
  EXPECT_EQ(gpctl_.Run({"sink", "wandb", "nobody"}).code, 3);
  EXPECT_EQ(gpctl_.Run({"sink", "mlflow", "base"}).code, 2) << "--to is required";
}

TEST_F(SinkTest, LetsTheProgramCompleteWhatItBegan) {
  Install("trap 'echo completed; exit 0' TERM\necho following\nwhile true; do sleep 0.01; done");
  gpctl_.interrupt_when_out_contains = "following";
  const Outcome outcome = gpctl_.Run({"sink", "wandb", "base", "--follow"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("completed"));
}

}  // namespace
}  // namespace gp::testing
