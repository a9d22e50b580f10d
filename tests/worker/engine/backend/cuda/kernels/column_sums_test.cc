// Goal: the sums of a matrix's columns equal a plain loop, for awkward sizes, with and without
// accumulation.
#include "worker/engine/backend/cuda/kernels/column_sums.h"

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

class ColumnSumsKernel : public DeviceTest {};

struct ColumnSumsShape {
  int64_t rows;
  int64_t columns;
};
// Partial warps and vectors, several parts, and more parts than the kernel stores.
constexpr ColumnSumsShape kColumnSumsShapes[] = {{1, 1},    {7, 5},      {8, 256},
                                                 {300, 33}, {1000, 264}, {33000, 2}};

TEST_F(ColumnSumsKernel, AreExactForIntegers) {
  for (const ColumnSumsShape& shape : kColumnSumsShapes) {
    std::vector<float> values(static_cast<size_t>(shape.rows * shape.columns));
    std::vector<float> expected(static_cast<size_t>(shape.columns));
    for (int64_t i = 0; i < shape.rows * shape.columns; ++i) {
      const auto value = static_cast<float>(i % 17 - 8);
      values[static_cast<size_t>(i)] = value;
      expected[static_cast<size_t>(i % shape.columns)] += value;
    }
    for (const DataType type : kDataTypes) {
      const DeviceArray in(values, type);
      const DeviceArray sums = Unwritten(shape.columns, DataType::kFloat32);
      const DeviceArray scratch =
          Unwritten(ColumnSumsScratch(shape.rows, shape.columns), DataType::kFloat32);
      for (const float times : {1.0f, 2.0f}) {
        LaunchColumnSums(in.buffer(), shape.rows, shape.columns, sums.f32(), times == 2,
                         scratch.f32(), nullptr);
        const std::vector<float> results = sums.Get();
        for (size_t c = 0; c < results.size(); ++c) {
          ASSERT_EQ(results[c], times * expected[c])
              << "column " << c << " of " << shape.rows << " x " << shape.columns;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gp::engine
