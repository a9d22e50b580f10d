// Goal: a whole training works on the CUDA backend: it learns as on the CPU, recorded steps give
// the same files as unrecorded ones, and a run resumes from its checkpoint to the same bits, in
// fp16 including its loss scale. Without a GPU, it runs on the emulated device.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/clock.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/trainer/exit_code.h"
#include "worker/trainer/standalone_training.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

constexpr int64_t kSteps = 4;

class CudaTraining : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceInfo device = FindDevice();
    if (!device.exists()) GTEST_SKIP() << device.why_none;
  }

  void Train(const std::string& out, std::vector<std::string> overrides) {
    overrides.insert(overrides.end(),
                     {"resources.threads=1", "sample.max_tokens=3", "deterministic=true"});
    const std::string text = directory_.Write("text.txt", TinyText());
    const std::string file = directory_.Write("run.yaml", TinyRunFile(text, kSteps, 2));
    ASSERT_EQ(RunStandalone({.spec_path = file, .overrides = overrides, .out_directory = Out(out)},
                            SystemClock()),
              ProcessStatus(ExitCode::kOk));
  }

  std::string Out(const std::string& out) const { return directory_.File(out); }

  std::string Newest(const std::string& out) const {
    const auto newest = formats::FindNewestCheckpoint(LocalStorage(), Out(out) + "/checkpoints");
    EXPECT_TRUE(newest.ok() && newest->has_value());
    return newest.ok() && *newest ? **newest : "";
  }

  // The losses of the steps, in order.
  std::vector<double> Losses(const std::string& out) const {
    std::vector<double> losses;
    std::istringstream lines(ReadFile(Out(out) + "/metrics.jsonl").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      losses.push_back(nlohmann::json::parse(line)["loss"].get<double>());
    }
    return losses;
  }

  void ExpectSameState(const std::string& left, const std::string& right) const {
    for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
      const auto expected = ReadFile(JoinPath(left, name));
      const auto found = ReadFile(JoinPath(right, name));
      ASSERT_TRUE(expected.ok() && found.ok()) << name;
      EXPECT_TRUE(*expected == *found) << name;
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(CudaTraining, LearnsWhatTheCpuLearns) {
  Train("cpu", {"resources.device=cpu", "precision=fp32"});
  const std::vector<double> expected = Losses("cpu");
  ASSERT_EQ(std::ssize(expected), kSteps);
  const std::map<std::string, double> tolerances = {{"fp32", 1e-4}, {"bf16", 2e-2}};
  for (const auto& [precision, tolerance] : tolerances) {
    Train(precision, {"resources.device=gpu", "precision=" + precision});
    const std::vector<double> losses = Losses(precision);
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], expected[i], tolerance) << precision << " step " << i + 1;
    }
  }
}

TEST_F(CudaTraining, ARecordedStepGivesTheFilesOfOneThatIsNot) {
  Train("recorded", {"resources.device=gpu", "precision=fp32"});
  Train("eager", {"resources.device=gpu", "precision=fp32", "engine.graph=false"});
  ExpectSameState(Newest("eager"), Newest("recorded"));
}

TEST_F(CudaTraining, GoesOnFromACheckpointToTheSameBitsInFp16) {
  Train("out", {"resources.device=gpu", "precision=fp16"});
  const std::string last = Newest("out");
  const auto manifest = formats::ReadManifest(LocalStorage(), last);
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->record.precision, "fp16");
  EXPECT_TRUE(manifest->record.loss_scale.has_value());
  ASSERT_TRUE(std::filesystem::exists(last));
  const std::string kept = Out("kept");
  std::filesystem::rename(last, kept);
  Train("out", {"resources.device=gpu", "precision=fp16"});
  ExpectSameState(kept, Newest("out"));
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest("out"))->record, manifest->record);
}

}  // namespace
}  // namespace gp::engine
