// Goal: the residual addition and its gradient equal plain loops for odd shapes and all types, with
// the dropout masks of dropout_key.h.
#include "worker/engine/backend/cuda/kernels/residual.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/dropout_reference.h"

namespace gp::engine {
namespace {

struct ResidualShape {
  int64_t rows;
  int64_t channels;
};
constexpr ResidualShape kResidualShapes[] = {{1, 1},    {3, 7},   {9, 32},
                                             {17, 136}, {8, 130}, {10, 768}};

template <typename Body>
void ForEachResidual(Body body) {
  for (const ResidualShape& shape : kResidualShapes) {
    for (const TypePair& types : kTypePairs) {
      for (const KeyedDropout& keyed : DropoutCases()) {
        SCOPED_TRACE(testing::Message()
                     << shape.rows << " rows of " << shape.channels << ", types "
                     << static_cast<int>(types.residual) << " " << static_cast<int>(types.compute));
        body(shape, types, keyed);
      }
    }
  }
}

class ResidualKernel : public DeviceTest {};

TEST_F(ResidualKernel, AddsTheBranch) {
  bool in_place = false;
  ForEachResidual(
      [&](const ResidualShape& shape, const TypePair& types, const KeyedDropout& keyed) {
        const int64_t size = shape.rows * shape.channels;
        const DeviceArray in(NormalValues(size, 1), types.residual);
        const DeviceArray branch(NormalValues(size, 2), types.compute);
        const DeviceArray other = Unwritten(size, types.residual);
        const DeviceArray& out = in_place ? in : other;
        in_place = !in_place;
        LaunchResidual({.rows = shape.rows,
                        .channels = shape.channels,
                        .out = out.buffer(),
                        .in = in.buffer(),
                        .branch = branch.buffer(),
                        .dropout = keyed.dropout()},
                       nullptr);
        const std::vector<float> sums = out.Get();
        for (int64_t i = 0; i < size; ++i) {
          const double mask = keyed.At(i / shape.channels, i % shape.channels);
          const double expected = in.at(i) + branch.at(i) * mask;
          ASSERT_NEAR(sums[static_cast<size_t>(i)], expected,
                      DeviceTolerance(types.residual, expected));
        }
      });
}

TEST_F(ResidualKernel, PassesTheGradientOfTheBranch) {
  ForEachResidual([](const ResidualShape& shape, const TypePair& types, const KeyedDropout& keyed) {
    const int64_t size = shape.rows * shape.channels;
    const DeviceArray dout(NormalValues(size, 3), types.residual);
    const DeviceArray dbranch = Unwritten(size, types.compute);
    LaunchResidualBackward({.rows = shape.rows,
                            .channels = shape.channels,
                            .dbranch = dbranch.buffer(),
                            .dout = dout.buffer(),
                            .dropout = keyed.dropout()},
                           nullptr);
    const std::vector<float> gradients = dbranch.Get();
    for (int64_t i = 0; i < size; ++i) {
      const double expected = dout.at(i) * keyed.At(i / shape.channels, i % shape.channels);
      ASSERT_NEAR(gradients[static_cast<size_t>(i)], expected,
                  DeviceTolerance(types.compute, expected));
    }
  });
}

}  // namespace
}  // namespace gp::engine
