// Goal: tuning covers every product of a step, is remembered in a file that may be damaged or of
// another device, and takes nothing twice.
#include "worker/engine/backend/cuda/gemm_tuning.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

class GemmTuningTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    directory_ = testing::TempDir() + "/gemm_tuning." + std::to_string(getpid());
    setenv("XDG_CACHE_HOME", directory_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static CudaBackendOptions Options() {
    CudaBackendOptions options;
    options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 8};
    options.shape.vocabulary = 29;
    options.shape.vocabulary_padded = 32;
    options.arena = {.micro_batch = 2, .sequence = 8, .bf16 = true, .on_gpu = true};
    return options;
  }

  std::string directory_;
};

int64_t CountOf(const GemmChoices& choices) {
  const std::string text = choices.Encode();
  return std::count(text.begin(), text.end(), ';');
}

TEST_F(GemmTuningTest, CoversEveryProductOfAStepOnce) {
  const GemmChoices first = TuneGemms(Options(), GemmChoices("here"));
  EXPECT_EQ(first.device(), "here");
  // Four layers of a block and the head: forwards, to the input, to the weight twice.
  EXPECT_GE(CountOf(first), 5 * 4);
  EXPECT_EQ(TuneGemms(Options(), first), first);
  CudaBackendOptions larger = Options();
  larger.arena.micro_batch = 3;
  GemmChoices both = first;
  both.Add(TuneGemms(larger, first));
  EXPECT_GT(CountOf(both), CountOf(first));
  EXPECT_EQ(TuneGemms(Options(), both), first);
}

TEST_F(GemmTuningTest, IsRememberedForTheDeviceItWasDoneOn) {
  GemmChoices choices("A card, driver 13.0, cuBLASLt 13.1.0");
  choices.Set("kind", "00ff");
  EXPECT_TRUE(ReadTunedGemms(choices.device()).empty());
  ASSERT_TRUE(WriteTunedGemms(choices));
  EXPECT_EQ(ReadTunedGemms(choices.device()), choices);
  const std::string path = TunedGemmsPath(choices.device());
  EXPECT_EQ(path, directory_ + "/gp/gemms-a-card-driver-13-0-cublaslt-13-1-0.txt");
  std::filesystem::rename(path, TunedGemmsPath("Another card"));
  EXPECT_EQ(ReadTunedGemms("Another card"), GemmChoices("Another card"));
}

TEST_F(GemmTuningTest, PassesOverADamagedFileAndReplacesIt) {
  GemmChoices choices("A card");
  choices.Set("kind", "00ff");
  ASSERT_TRUE(WriteTunedGemms(choices));
  std::ofstream(TunedGemmsPath("A card")) << "A card|kind";
  EXPECT_EQ(ReadTunedGemms("A card"), GemmChoices("A card"));
  ASSERT_TRUE(WriteTunedGemms(choices));
  EXPECT_EQ(ReadTunedGemms("A card"), choices);
}

TEST_F(GemmTuningTest, SaysWhenTheFileCannotBeWritten) {
  std::ofstream(directory_) << "a file where the folder should be";
  EXPECT_FALSE(WriteTunedGemms(GemmChoices("A card")));
  unsetenv("XDG_CACHE_HOME");
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("HOME");
  EXPECT_EQ(TunedGemmsPath("A card"), "");
  EXPECT_FALSE(WriteTunedGemms(GemmChoices("A card")));
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace gp::engine
