// Goal: the warp-wide instructions of kernels/tensor_core.cuh behave as the PTX ISA specifies: each
// lane gets its part of a tile product, ldmatrix distributes rows and columns, and an asynchronous
// copy's data is not visible before a wait.
#include "worker/engine/backend/cuda/kernels/tensor_core.cuh"

#include <gtest/gtest.h>

#include <vector>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

using cuda_emulation::KernelError;

// The element (row, column) of tile t is 64 t + 8 row + column.
__global__ void DistributeKernel(uint32_t* plain, uint32_t* transposed) {
  AwaitPrevious();
  GP_SHARED(uint16_t, tiles, [4][8][8]);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = 0; i < 8; ++i) tiles[lane / 8][lane % 8][i] = static_cast<uint16_t>(8 * lane + i);
  __syncwarp();
  uint32_t registers[4];
  LoadTiles(registers, tiles[lane / 8][lane % 8]);
  for (int t = 0; t < 4; ++t) plain[4 * lane + t] = registers[t];
  LoadTilesTransposed(registers, tiles[lane / 8][lane % 8]);
  for (int t = 0; t < 4; ++t) transposed[4 * lane + t] = registers[t];
}

TEST(EmulatedTensorCore, LoadsTilesByRowsAndByColumns) {
  std::vector<uint32_t> plain(128);
  std::vector<uint32_t> transposed(128);
  Launch(&DistributeKernel, 1, 32, 0, nullptr, plain.data(), transposed.data());
  const auto pair = [](int low, int high) { return static_cast<uint32_t>(low | high << 16); };
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4;
    const int first = lane % 4 * 2;
    for (int t = 0; t < 4; ++t) {
      const auto at = static_cast<size_t>(4 * lane + t);
      EXPECT_EQ(plain[at], pair(64 * t + 8 * group + first, 64 * t + 8 * group + first + 1));
      EXPECT_EQ(transposed[at], pair(64 * t + 8 * first + group, 64 * t + 8 * (first + 1) + group));
    }
  }
}

int ElementOfA(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
int ElementOfB(int k, int column) { return (2 * k + 3 * column) % 5 - 2; }

__global__ void ProductKernel(float* c) {
  AwaitPrevious();
  const int lane = static_cast<int>(threadIdx.x);
  const int group = lane / 4;
  const int first = lane % 4 * 2;
  const auto a = [](int row, int k) {
    return PackPair(static_cast<float>(ElementOfA(row, k)),
                    static_cast<float>(ElementOfA(row, k + 1)), __half());
  };
  const auto b = [](int k, int column) {
    return PackPair(static_cast<float>(ElementOfB(k, column)),
                    static_cast<float>(ElementOfB(k + 1, column)), __half());
  };
  const FragmentA fragment = {a(group, first), a(group + 8, first), a(group, first + 8),
                              a(group + 8, first + 8)};
  FragmentC sums = {1, 1, 1, 1};
  MultiplyTile<__half>(sums, fragment, b(first, group), b(first + 8, group));
  for (int e = 0; e < 4; ++e) c[(group + e / 2 * 8) * 8 + first + e % 2] = sums[e];
}

TEST(EmulatedTensorCore, AddsTheProductOfTwoTiles) {
  std::vector<float> c(128);
  Launch(&ProductKernel, 1, 32, 0, nullptr, c.data());
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      int expected = 1;
      for (int k = 0; k < 16; ++k) expected += ElementOfA(row, k) * ElementOfB(k, column);
      EXPECT_EQ(c[static_cast<size_t>(row * 8 + column)], static_cast<float>(expected));
    }
  }
}

// Two groups of copies: after a wait that allows one pending group, the older group has arrived.
__global__ void CopyKernel(float* seen, const float* from) {
  AwaitPrevious();
  GP_SHARED(float, arrived, [2][4]);
  for (float& value : arrived[1]) value = -1;
  CopyAsync(arrived[0], from, true);
  CommitCopies();
  CopyAsync(arrived[1], from, false);
  CommitCopies();
  WaitForCopies<1>();
  seen[0] = arrived[0][2];
  seen[1] = arrived[1][2];
  WaitForCopies<0>();
  seen[2] = arrived[1][2];
}

TEST(EmulatedTensorCore, CopiesArriveInOrderWhenWaitedFor) {
  alignas(16) const float from[4] = {1, 2, 3, 4};
  std::vector<float> seen(3);
  Launch(&CopyKernel, 1, 1, 0, nullptr, seen.data(), from);
  EXPECT_EQ(seen, (std::vector<float>{3, -1, 0}));
}

__global__ void MisalignedKernel(const float* from) {
  AwaitPrevious();
  GP_SHARED(float, to, [4]);
  CopyAsync(to, from + 1, true);
}

TEST(EmulatedTensorCore, RefusesAMisalignedCopy) {
  alignas(16) const float from[8] = {};
  EXPECT_THROW(Launch(&MisalignedKernel, 1, 1, 0, nullptr, from), KernelError);
}

}  // namespace
}  // namespace gp::engine
