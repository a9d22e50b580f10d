// Goal: a bias is added once to every row and rounded once, for all types and all kinds of sizes.
#include "worker/engine/backend/cuda/kernels/add_bias.h"

#include <gtest/gtest.h>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

using AddBias = DeviceTest;

void ExpectAdded(int64_t rows, int64_t columns, DataType y_type, DataType bias_type) {
  const DeviceArray y(NormalValues(rows * columns, 1), y_type),
      bias(NormalValues(columns, 2), bias_type);
  LaunchAddBias(rows, columns, y.buffer(), bias.buffer(), nullptr);
  const std::vector<float> sums = y.Get();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const DeviceArray expected({y.at(i) + bias.at(i % columns)}, y_type);
    ASSERT_EQ(sums[static_cast<size_t>(i)], expected.at(0))
        << i << " of " << rows << " x " << columns;
  }
}

TEST_F(AddBias, EqualsAPlainLoop) {
  for (const DataType type : kDataTypes) {
    for (const int64_t columns : {1, 7, 8, 33, 64, 770}) {
      ExpectAdded(3, columns, type, type);
      ExpectAdded(3, columns, DataType::kFloat32, type);
    }
  }
  LaunchAddBias(0, 8, {}, {}, nullptr);
}

}  // namespace
}  // namespace gp::engine
