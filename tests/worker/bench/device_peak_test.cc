// Goal: the device's peak is measured in every precision, also if the bench's model is tiny.
#include <gtest/gtest.h>

#include "worker/bench/machine_limits.h"

namespace gp::engine {
namespace {

TEST(DevicePeak, NeedsNoMoreThanTheDeviceInAnyPrecision) {
  ModelOptions options;
  options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 8};
  options.shape.vocabulary = options.shape.vocabulary_padded = 32;
  options.micro_batch = 1;
  options.sequence = 8;
  options.device.on = true;
  for (const auto precision : {runspec::Precision::kBf16, runspec::Precision::kFp8}) {
    options.precision = precision;
    // Both operands are far larger than the scratch memory that such a model needs.
    EXPECT_GT(MeasureFlops(options, 160), 0);
  }
  EXPECT_GT(MeasureBandwidth(options, 160), 0);
}

}  // namespace
}  // namespace gp::engine
