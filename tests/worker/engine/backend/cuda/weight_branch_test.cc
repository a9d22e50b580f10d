// Goal: the gradient of a weight on the branch is the one of the main stream, whatever the main
// stream does to the memory afterwards, if it asks first; and it waits for readers of that memory
// alone.
#include "worker/engine/backend/cuda/weight_branch.h"

#include <gtest/gtest.h>

#include <vector>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

class WeightBranchTest : public DeviceTest {
 protected:
  static constexpr LinearShape kShape{24, 16, 48};

  static CudaBackendOptions Options() {
    CudaBackendOptions options;
    options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 12};
    options.shape.vocabulary = 29;
    options.shape.vocabulary_padded = 32;
    options.arena = {.micro_batch = 2, .sequence = 12, .on_gpu = true};
    return options;
  }

  LinearBackwardWeight Args() const {
    return {.shape = kShape,
            .dw = dw_.f32(),
            .dbias = dbias_.f32(),
            .dy = dy_.buffer(),
            .x = x_.buffer()};
  }

  static std::vector<float> Ones(int64_t count) {
    return std::vector<float>(static_cast<size_t>(count), 1.0f);
  }

  void Clear(const DeviceArray& array, const CudaStream& stream) {
    CheckCuda(cudaMemsetAsync(array.f32(), 0, static_cast<size_t>(array.size() * 4), stream.get()),
              "cudaMemsetAsync");
  }

  const DeviceArray dy_{Ones(24 * 48), DataType::kFloat32};
  const DeviceArray x_{Ones(24 * 16), DataType::kFloat32};
  const DeviceArray dw_{std::vector<float>(48 * 16), DataType::kFloat32};
  const DeviceArray dbias_{std::vector<float>(48), DataType::kFloat32};
};

TEST_F(WeightBranchTest, MemoryIsWrittenOnlyAfterItsReaders) {
  for (const DeviceArray* written : {&dy_, &x_}) {
    const CudaStream main;
    WeightBranch branch(Options(), main);
    branch.BackwardWeight(Args());
    branch.AwaitReadersOf({{}, RangeOf(written->buffer(), written->size())});
    Clear(*written, main);
    branch.AwaitAll();
    main.Synchronize();
    if (written == &dy_) {
      EXPECT_EQ(dw_.Get(), std::vector<float>(48 * 16, 24.0f));
      EXPECT_EQ(dbias_.Get(), std::vector<float>(48, 24.0f));
      const DeviceArray again(Ones(24 * 48), DataType::kFloat32);
      CheckCuda(cudaMemcpy(dy_.f32(), again.f32(), static_cast<size_t>(again.size() * 4),
                           cudaMemcpyDeviceToDevice),
                "cudaMemcpy");
    } else {
      EXPECT_EQ(dw_.Get(), std::vector<float>(48 * 16, 24.0f));
    }
  }
}

TEST_F(WeightBranchTest, TheMainStreamSeesTheGradientsAfterAll) {
  const CudaStream main;
  WeightBranch branch(Options(), main);
  branch.BackwardWeight(Args());
  LinearBackwardWeight more = Args();
  more.accumulate = true;
  branch.BackwardWeight(more);
  branch.AwaitAll();
  main.Synchronize();
  EXPECT_EQ(dw_.Get(), std::vector<float>(48 * 16, 48.0f));
  EXPECT_EQ(dbias_.Get(), std::vector<float>(48, 48.0f));
}

}  // namespace
}  // namespace gp::engine
