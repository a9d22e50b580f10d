// Goal: the planned workspace suffices for every operation of a model, from the tiny size to 1558M,
// and allocations are counted.
#include "worker/engine/backend/cuda/runtime/device_allocations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "plan/gpu_workspace.h"
#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/column_sums.h"
#include "worker/engine/backend/cuda/kernels/embedding.h"
#include "worker/engine/backend/cuda/kernels/layer_norm_backward.h"
#include "worker/engine/backend/cuda/kernels/sum_of_squares.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"
#include "worker/engine/backend/cuda/products/fp8_operands.h"

namespace gp::engine {
namespace {

// The bytes that each operation needs, including rounding up where it has several pieces.
std::vector<int64_t> Needs(const runspec::ModelShape& s, const runspec::ArenaOptions& o) {
  const int64_t rows = o.micro_batch * o.sequence;
  const int64_t c = s.channels;
  return {ColumnSumsScratch(rows, 4 * c) * 4,
          LayerNormBackwardScratch(rows, c) * 4,
          EmbeddingBackwardScratch(rows, c),
          runspec::HeadRows(o) * 4,
          rows * s.heads * 4,
          kSumOfSquaresScratch * 8,
          o.fp8 ? Fp8Operands::ScratchBytes({rows, c, 4 * c}) : 0,
          o.fp8 ? Fp8Operands::ScratchBytes({rows, 4 * c, c}) : 0,
          o.fp8 ? Fp8Operands::ScratchBytes({rows, c, 3 * c}) : 0};
}

TEST(CudaWorkspacePlan, HoldsWhatEveryOperationNeeds) {
  for (const char* name : {"tiny", "124M", "350M", "1558M"}) {
    const auto shape = runspec::NamedModelShape(name);
    ASSERT_TRUE(shape.has_value()) << name;
    for (const int64_t micro_batch : {1, 3, 64}) {
      for (const int64_t sequence : {1, 63, 1024}) {
        for (const bool fp8 : {false, true}) {
          const runspec::ArenaOptions options{.micro_batch = micro_batch,
                                              .sequence = std::min(sequence, shape->context),
                                              .bf16 = true,
                                              .fp8 = fp8,
                                              .on_gpu = true};
          const int64_t scratch =
              runspec::GpuWorkspacePieceOf(*shape, options, "scratch").size_bytes;
          for (const int64_t need : Needs(*shape, options)) {
            EXPECT_GE(scratch, need) << name << " " << micro_batch << " x " << options.sequence;
          }
        }
      }
    }
  }
}

TEST(CudaWorkspacePlan, HasRoomForAWeightGradientInSevenParts) {
  const auto shape = *runspec::NamedModelShape("124M");
  const int64_t bytes = runspec::GpuWorkspacePieceOf(shape, {.on_gpu = true}, "matmul").size_bytes;
  EXPECT_GE(bytes, 7 * shape.channels * 4 * shape.channels * 4);
}

TEST(CudaWorkspacePlan, LaysItsPiecesOneBehindTheOther) {
  const auto shape = *runspec::NamedModelShape("124M");
  const runspec::ArenaOptions options{.micro_batch = 4, .sequence = 64, .on_gpu = true};
  int64_t end = 0;
  for (const auto& piece : runspec::GpuWorkspace(shape, options)) {
    EXPECT_GE(piece.offset_bytes, end) << piece.name;
    EXPECT_EQ(piece.offset_bytes % 256, 0) << piece.name;
    end = piece.offset_bytes + piece.size_bytes;
  }
  EXPECT_LE(end, runspec::GpuWorkspaceBytes(shape, options));
  EXPECT_THROW(runspec::GpuWorkspacePieceOf(shape, options, "attic"), std::out_of_range);
}

using DeviceAllocationsTest = DeviceTest;

TEST_F(DeviceAllocationsTest, CountsTheDevicesMemoryAlone) {
  DeviceAllocations allocations;
  allocations.Device(100);
  allocations.Device(28);
  const auto* host = static_cast<const std::byte*>(allocations.Host(64));
  EXPECT_EQ(allocations.device_bytes(), 128);
  EXPECT_TRUE(std::all_of(host, host + 64, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(DeviceAllocationsTest, SaysWhenTheDeviceIsFull) {
  DeviceAllocations allocations;
  try {
    allocations.Device(int64_t{1} << 60);
    FAIL() << "an exbibyte was allocated";
  } catch (const std::bad_alloc& error) {
    EXPECT_NE(std::string(error.what()).find("engine.recompute"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(allocations.device_bytes(), 0);
}

}  // namespace
}  // namespace gp::engine
