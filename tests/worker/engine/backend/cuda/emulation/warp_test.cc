// Goal: warp operations give each lane the results that CUDA documents, in all modes and widths; a
// lane that is missing or not in the mask is reported with its location.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

using cuda_emulation::KernelError;
using testing::HasSubstr;

constexpr unsigned int kAll = 0xffffffffu;

__global__ void ShufflesKernel(int* out, int argument, int width) {
  AwaitPrevious();
  const int lane = static_cast<int>(threadIdx.x % 32);
  int* mine = out + 4 * threadIdx.x;
  mine[0] = __shfl_sync(kAll, lane, argument, width);
  mine[1] = __shfl_up_sync(kAll, lane, static_cast<unsigned int>(argument), width);
  mine[2] = __shfl_down_sync(kAll, lane, static_cast<unsigned int>(argument), width);
  mine[3] = __shfl_xor_sync(kAll, lane, argument, width);
}

TEST(EmulatedWarp, ShufflesWithinSegments) {
  for (const int width : {1, 2, 8, 32}) {
    for (const int argument : {0, 1, 3, 5, 16, 31}) {
      std::vector<int> out(4 * 64);
      Launch(&ShufflesKernel, 1, 64, 0, nullptr, out.data(), argument, width);
      for (int thread = 0; thread < 64; ++thread) {
        const int lane = thread % 32;
        const int first = lane / width * width;
        const int last = first + width - 1;
        const int* mine = &out[static_cast<size_t>(4 * thread)];
        ASSERT_EQ(mine[0], first + argument % width);
        ASSERT_EQ(mine[1], lane - argument < first ? lane : lane - argument);
        ASSERT_EQ(mine[2], lane + argument > last ? lane : lane + argument);
        ASSERT_EQ(mine[3], (lane ^ argument) > last ? lane : lane ^ argument);
      }
    }
  }
}

__global__ void WideValueKernel(double* out) {
  AwaitPrevious();
  const double value = 1.0 / (1 + threadIdx.x);
  out[threadIdx.x] = __shfl_sync(kAll, value, 31 - static_cast<int>(threadIdx.x));
}

TEST(EmulatedWarp, ShufflesEightBytes) {
  std::vector<double> out(32);
  Launch(&WideValueKernel, 1, 32, 0, nullptr, out.data());
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 1.0 / static_cast<double>(32 - i));
}

__global__ void VotesKernel(unsigned int* out) {
  AwaitPrevious();
  const int lane = static_cast<int>(threadIdx.x);
  unsigned int* mine = out + 4 * threadIdx.x;
  mine[0] = __ballot_sync(kAll, lane % 3 == 0);
  mine[1] = static_cast<unsigned int>(__any_sync(kAll, lane == 7));
  mine[2] = static_cast<unsigned int>(__all_sync(kAll, lane != 7));
  mine[3] = __match_any_sync(kAll, lane / 10);
}

TEST(EmulatedWarp, Votes) {
  std::vector<unsigned int> out(4 * 32);
  Launch(&VotesKernel, 1, 32, 0, nullptr, out.data());
  for (size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[4 * lane], 0x49249249u);
    EXPECT_EQ(out[4 * lane + 1], 1u);
    EXPECT_EQ(out[4 * lane + 2], 0u);
    const unsigned int tens = lane < 30 ? 0x3ffu << (lane / 10 * 10) : 0xc0000000u;
    EXPECT_EQ(out[4 * lane + 3], tens);
  }
}

// The two halves of a warp diverge, each with its own mask.
__global__ void HalvesKernel(int* out) {
  AwaitPrevious();
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 16) {
    out[lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
    __syncwarp(0x0000ffffu);
  } else {
    out[lane] = __shfl_xor_sync(0xffff0000u, lane, 2);
  }
  __syncwarp();
}

TEST(EmulatedWarp, KeepsDisjointMasksApart) {
  std::vector<int> out(32);
  Launch(&HalvesKernel, 1, 32, 0, nullptr, out.data());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i < 16 ? i ^ 1 : i ^ 2);
}

enum class Mistake { kLaneLeft, kNotInMask, kReadsOutside, kOtherMask, kOtherCall, kOddWidth };

__global__ void MistakeKernel(Mistake mistake) {
  AwaitPrevious();
  const int lane = static_cast<int>(threadIdx.x);
  if (mistake == Mistake::kLaneLeft && lane == 9) return;
  if (mistake == Mistake::kNotInMask) __syncwarp(0xfffffffeu);
  const bool differs = mistake == Mistake::kOtherMask && lane > 3;
  const unsigned int mask = differs ? 0xfffffff1u : kAll;
  if (mistake == Mistake::kReadsOutside) {
    if (lane < 16) __shfl_sync(0x0000ffffu, lane, 20);
    return;
  }
  if (mistake == Mistake::kOtherCall && lane == 2) {
    __syncwarp();
    return;
  }
  const int width = mistake == Mistake::kOddWidth ? 12 : 32;
  __shfl_xor_sync(mask, lane, 1, width);
}

std::string ErrorOf(Mistake mistake, int threads = 32) {
  try {
    Launch(&MistakeKernel, 1, static_cast<unsigned int>(threads), 0, nullptr, mistake);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "no error";
}

TEST(EmulatedWarp, FindsWhatADeviceWouldHangOn) {
  EXPECT_THAT(ErrorOf(Mistake::kLaneLeft),
              HasSubstr("for lane 9, but thread (9, 0, 0) has returned"));
  EXPECT_THAT(ErrorOf(Mistake::kLaneLeft), HasSubstr("warp_test.cc:"));
  EXPECT_THAT(ErrorOf(Mistake::kNotInMask), HasSubstr("a mask that does not contain it"));
  EXPECT_THAT(ErrorOf(Mistake::kReadsOutside), HasSubstr("reads lane 20, which"));
  EXPECT_THAT(ErrorOf(Mistake::kOtherMask), HasSubstr("different masks"));
  EXPECT_THAT(ErrorOf(Mistake::kOtherCall), HasSubstr("of the mask waits at"));
  EXPECT_THAT(ErrorOf(Mistake::kOddWidth), HasSubstr("width of a shuffle"));
}

}  // namespace
}  // namespace gp::engine
