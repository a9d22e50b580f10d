#include "client/gateway/models/directory_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gateway/served_checkpoint_files.h"
#include "lib/base/temporary_directory.h"

namespace gp::gateway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DirectoryScan : public ::testing::Test {
 protected:
  void AddStep(int64_t step) { WriteCheckpoint(StepOf(step), {.step = step}); }
  std::string StepOf(int64_t step) {
    return fmt::format("{}/checkpoints/step-{:08}-e1-x", files_.File("run"), step);
  }
  void DamageManifest(const std::string& directory) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(directory, formats::kManifestName), "{").ok());
  }
  std::vector<int64_t> StepsIn(const std::string& directory) {
    std::vector<int64_t> steps;
    for (const auto& checkpoint : ScanDirectory({"m", directory}).checkpoints) {
      steps.push_back(checkpoint.step);
    }
    return steps;
  }

  TemporaryDirectory files_;
};

TEST_F(DirectoryScan, FindsACheckpointOrThoseOfARun) {
  AddStep(10);
  AddStep(20);
  EXPECT_EQ(StepsIn(files_.File("run")), (std::vector<int64_t>{20, 10}));
  EXPECT_EQ(StepsIn(files_.File("run/checkpoints")), (std::vector<int64_t>{20, 10}));
  EXPECT_EQ(StepsIn(StepOf(10)), std::vector<int64_t>{10});
  EXPECT_TRUE(CheckDirectory({"m", files_.File("run")}).ok());
  EXPECT_TRUE(CheckDirectory({"m", StepOf(10)}).ok());
}

TEST_F(DirectoryScan, OneThatIsDamagedLeavesTheOthers) {
  AddStep(10);
  AddStep(20);
  DamageManifest(StepOf(20));
  EXPECT_EQ(StepsIn(files_.File("run")), std::vector<int64_t>{10});
  EXPECT_TRUE(CheckDirectory({"m", files_.File("run")}).ok());
}

TEST_F(DirectoryScan, SaysWhatIsMissingAndTheWayOut) {
  const std::string directory = files_.File("empty");
  const Status missing = CheckDirectory({"m", directory});
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(missing),
              AllOf(HasSubstr("m=" + directory + ": there is no such directory"),
                    HasSubstr("expected a checkpoint (a directory with a manifest.json)"),
                    HasSubstr("--coordinator")));
  ASSERT_TRUE(MakeDirectories(directory).ok());
  const Status empty = CheckDirectory({"m", directory});
  EXPECT_EQ(empty.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(empty), HasSubstr(directory + ": it holds no checkpoint"));
  ASSERT_TRUE(WriteFileAtomically(JoinPath(directory, "config.json"), "{}").ok());
  const std::string command = "gpctl import " + directory + " --name imported";
  EXPECT_THAT(Message(CheckDirectory({"m", directory})), HasSubstr(command));
  EXPECT_THAT(Message(CheckDirectory({"m", JoinPath(directory, "config.json")})),
              HasSubstr(command));
}

TEST_F(DirectoryScan, SaysThatTheOnlyCheckpointIsDamaged) {
  AddStep(10);
  DamageManifest(StepOf(10));
  for (const std::string& directory : {files_.File("run"), StepOf(10)}) {
    const Status damaged = CheckDirectory({"m", directory});
    EXPECT_EQ(damaged.code(), StatusCode::kDataLoss);
    EXPECT_THAT(Message(damaged), HasSubstr(StepOf(10) + "/manifest.json"));
  }
}

TEST_F(DirectoryScan, AFileIsNoDirectory) {
  ASSERT_TRUE(WriteFileAtomically(files_.File("file"), "text").ok());
  EXPECT_FALSE(CheckDirectory({"m", files_.File("file")}).ok());
  EXPECT_TRUE(StepsIn(files_.File("file")).empty());
}

}  // namespace
}  // namespace gp::gateway
