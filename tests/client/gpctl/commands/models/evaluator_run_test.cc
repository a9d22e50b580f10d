#include "client/gpctl/commands/models/evaluator_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

class EvaluatorRunTest : public ::testing::Test {
 protected:
  // Runs a stand-in for gp-evaluator with this body.
  StatusOr<EvaluatorRun> Run(const std::string& body) {
    const std::string path = directory_.path() + "/gp-evaluator";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    Console console{.in = in_,
                    .out = out_,
                    .err = err_,
                    .interruption = interruption_,
                    .clock = SystemClock(),
                    .program_directory = directory_.path(),
                    .working_directory = directory_.path()};
    Session session({}, console);
    return RunEvaluator({"--checkpoint", "c"}, session);
  }

  TemporaryDirectory directory_;
  std::istringstream in_;
  std::ostringstream out_, err_;
  client::Interruption interruption_;
};

TEST_F(EvaluatorRunTest, TheLastLineThatIsNoProgressIsTheResult) {
  const auto run = Run("echo '{\"done\":1,\"of\":2}'; echo '{\"val_loss\":1.5}'");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->code, ExitCode::kOk);
  EXPECT_EQ((*run->result)["val_loss"], 1.5);
}

TEST_F(EvaluatorRunTest, HandsOnAnExitCode) {
  const auto run = Run("exit 9");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->code, ExitCode::kDamaged);
}

TEST_F(EvaluatorRunTest, NoResultAndADeathAreErrors) {
  EXPECT_EQ(Run("exit 0").status().code(), StatusCode::kInternal);
  EXPECT_EQ(Run("kill -9 $$").status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace gp::gpctl
