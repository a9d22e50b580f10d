// Goal: the device's peak is measured in every precision, also if the bench's model is tiny.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "lib/base/temporary_directory.h"
#include "worker/bench/machine_limits.h"
#include "worker/engine/backend/tuning_cache.h"

namespace gp::engine {
namespace {

ModelOptions TinyOnDevice() {
  ModelOptions options;
  options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 8};
  options.shape.vocabulary = options.shape.vocabulary_padded = 32;
  options.micro_batch = 1;
  options.sequence = 8;
  options.device.on = true;
  return options;
}

TEST(DevicePeak, NeedsNoMoreThanTheDeviceInAnyPrecision) {
  ModelOptions options = TinyOnDevice();
  for (const auto precision : {runspec::Precision::kBf16, runspec::Precision::kFp8}) {
    options.precision = precision;
    // Both operands are far larger than the scratch memory that such a model needs.
    EXPECT_GT(MeasureFlops(options, 160), 0);
  }
  EXPECT_GT(MeasureBandwidth(options, 160), 0);
}

// A step's products and attention kernels are not needed to measure the device.
TEST(DevicePeak, TimesNoProductsOfATrainingStep) {
  const TemporaryDirectory cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  ModelOptions options = TinyOnDevice();
  options.device.deterministic = false;
  const std::string folder = TuningCachePath(kTunedGemmsFolder);
  EXPECT_GT(MeasureFlops(options, 32), 0);
  EXPECT_GT(MeasureBandwidth(options, 32), 0);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_FALSE(MakeBackend(options).choices.attention.empty());
  EXPECT_TRUE(std::filesystem::exists(folder));
  EXPECT_TRUE(MakeBackend(WithoutTraining(options)).choices.attention.empty());
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace gp::engine
