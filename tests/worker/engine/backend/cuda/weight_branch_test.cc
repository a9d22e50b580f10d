// Goal: the gradient of a weight on the branch is the one of the main stream, whatever the main
// stream does to the memory afterwards, if it asks first; and it waits for readers of that memory
// alone.
#include "worker/engine/backend/cuda/weight_branch.h"

#include <gtest/gtest.h>

#include <vector>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

std::vector<float> Ones(int64_t count) {
  return std::vector<float>(static_cast<size_t>(count), 1.0f);
}

// A layer's memory: all ones, so that each gradient is the number of rows.
struct LayerArrays {
  static constexpr LinearShape kShape{24, 16, 48};

  LinearBackwardWeight Args() const {
    return {
        .shape = kShape, .dw = dw.f32(), .dbias = dbias.f32(), .dy = dy.buffer(), .x = x.buffer()};
  }

  const DeviceArray dy{Ones(24 * 48), DataType::kFloat32};
  const DeviceArray x{Ones(24 * 16), DataType::kFloat32};
  const DeviceArray dw{std::vector<float>(48 * 16), DataType::kFloat32};
  const DeviceArray dbias{std::vector<float>(48), DataType::kFloat32};
};

class WeightBranchTest : public DeviceTest {
 protected:
  static CudaBackendOptions Options() {
    CudaBackendOptions options;
    options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 12};
    options.shape.vocabulary = 29;
    options.shape.vocabulary_padded = 32;
    options.arena = {.micro_batch = 2, .sequence = 12, .on_gpu = true};
    return options;
  }

  static void Clear(const DeviceArray& array, const CudaStream& stream) {
    CheckCuda(cudaMemsetAsync(array.f32(), 0, static_cast<size_t>(array.size() * 4), stream.get()),
              "cudaMemsetAsync");
  }
};

TEST_F(WeightBranchTest, MemoryIsWrittenOnlyAfterItsReaders) {
  for (const bool writes_dy : {true, false}) {
    const LayerArrays layer;
    const DeviceArray& written = writes_dy ? layer.dy : layer.x;
    const CudaStream main;
    WeightBranch branch(Options(), main);
    branch.BackwardWeight(layer.Args());
    branch.AwaitReadersOf({{}, RangeOf(written.buffer(), written.size())});
    Clear(written, main);
    branch.AwaitAll();
    main.Synchronize();
    EXPECT_EQ(layer.dw.Get(), std::vector<float>(48 * 16, 24.0f));
    EXPECT_EQ(layer.dbias.Get(), std::vector<float>(48, 24.0f));
  }
}

TEST_F(WeightBranchTest, TheMainStreamSeesTheGradientsAfterAll) {
  const LayerArrays layer;
  const CudaStream main;
  WeightBranch branch(Options(), main);
  branch.BackwardWeight(layer.Args());
  LinearBackwardWeight more = layer.Args();
  more.accumulate = true;
  branch.BackwardWeight(more);
  branch.AwaitAll();
  main.Synchronize();
  EXPECT_EQ(layer.dw.Get(), std::vector<float>(48 * 16, 48.0f));
  EXPECT_EQ(layer.dbias.Get(), std::vector<float>(48, 48.0f));
}

}  // namespace
}  // namespace gp::engine
