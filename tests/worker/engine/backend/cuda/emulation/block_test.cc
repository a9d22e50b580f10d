// Goal: a block's threads see their indices, wait for each other, and share memory; anything that
// would hang a device or give garbage is reported as an error with its location.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

using cuda_emulation::KernelError;
using testing::HasSubstr;

// Runs a launch that must fail; returns the message.
template <typename Body>
std::string ErrorOf(Body body) {
  try {
    body();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "no error";
}

__global__ void WriteIndexKernel(int* out) {
  AwaitPrevious();
  const unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += static_cast<int>(thread);
}

TEST(EmulatedBlock, RunsEachThreadOnce) {
  std::vector<int> out(2 * 3 * 2 * 5 * 2 * 3);
  Launch(&WriteIndexKernel, dim3(2, 3, 2), dim3(5, 2, 3), 0, nullptr, out.data());
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<int>(i % 30));
}

__global__ void SomeAwaitKernel(int threads) {
  if (static_cast<int>(threadIdx.x) < threads) AwaitPrevious();
}

TEST(EmulatedBlock, ReportsThreadsThatDoNotAwaitThePreviousKernel) {
  Launch(&SomeAwaitKernel, 1, 64, 0, nullptr, 64);
  const std::string error = ErrorOf([] { Launch(&SomeAwaitKernel, 1, 64, 0, nullptr, 63); });
  EXPECT_THAT(error, HasSubstr("thread 63 of block (0, 0, 0) called AwaitPrevious 0 times"));
}

// Each round reads what every thread wrote in the previous one.
__global__ void RotateKernel(int* out, int rounds) {
  AwaitPrevious();
  GP_SHARED(int, values, [64]);
  const unsigned int self = threadIdx.x;
  values[self] = static_cast<int>(self);
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const int next = values[(self + 1) % 64];
    __syncthreads();
    values[self] = next;
  }
  out[self] = values[self];
}

TEST(EmulatedBlock, WaitsAtBarriers) {
  // Once in rising and once in falling order of threads.
  for (int launch = 0; launch < 2; ++launch) {
    std::vector<int> out(64);
    Launch(&RotateKernel, 1, 64, 0, nullptr, out.data(), 7);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], (i + 7) % 64);
  }
}

__global__ void CountKernel(int* out) {
  AwaitPrevious();
  const int odd = static_cast<int>(threadIdx.x % 2);
  out[3 * threadIdx.x] = __syncthreads_count(odd);
  out[3 * threadIdx.x + 1] = __syncthreads_or(threadIdx.x == 5);
  out[3 * threadIdx.x + 2] = __syncthreads_and(threadIdx.x != 5);
}

TEST(EmulatedBlock, CountsPredicatesAtBarriers) {
  std::vector<int> out(3 * 40);
  Launch(&CountKernel, 1, 40, 0, nullptr, out.data());
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(out[3 * i], 20);
    EXPECT_EQ(out[3 * i + 1], 1);
    EXPECT_EQ(out[3 * i + 2], 0);
  }
}

__global__ void SkipBarrierKernel() {
  AwaitPrevious();
  if (threadIdx.x == 3) return;
  __syncthreads();
}

TEST(EmulatedBlock, FindsABarrierThatAThreadDoesNotReach) {
  const std::string error = ErrorOf([] { Launch(&SkipBarrierKernel, 2, 8, 0, nullptr); });
  EXPECT_THAT(error, HasSubstr("block (0, 0, 0), thread (0, 0, 0) waits at"));
  EXPECT_THAT(error, HasSubstr("block_test.cc:"));
  EXPECT_THAT(error, HasSubstr("thread (3, 0, 0) has returned"));
}

__global__ void TwoBarriersKernel() {
  AwaitPrevious();
  if (threadIdx.x < 4) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST(EmulatedBlock, FindsThreadsAtDifferentBarriers) {
  const std::string error = ErrorOf([] { Launch(&TwoBarriersKernel, 1, 8, 0, nullptr); });
  EXPECT_THAT(error, HasSubstr("waits at the barrier of"));
}

TEST(EmulatedBlock, WorksAfterAnError) {
  ErrorOf([] { Launch(&SkipBarrierKernel, 1, 64, 0, nullptr); });
  std::vector<int> out(64);
  Launch(&RotateKernel, 1, 64, 0, nullptr, out.data(), 3);
  EXPECT_EQ(out[0], 3);
}

template <typename T>
__global__ void ReadUnwrittenKernel(T* out) {
  AwaitPrevious();
  GP_SHARED(T, fixed, );
  GP_DYNAMIC_SHARED(T, dynamic);
  if (blockIdx.x == 0) {
    fixed = 1;
    dynamic[0] = 1;
  }
  out[2 * blockIdx.x] = fixed;
  out[2 * blockIdx.x + 1] = dynamic[0];
}

TEST(EmulatedBlock, BeginsWithPoisonedSharedMemory) {
  std::vector<float> out(4);
  Launch(&ReadUnwrittenKernel<float>, 2, 1, sizeof(float), nullptr, out.data());
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_TRUE(std::isnan(out[3]));
}

__global__ void WriteDynamicKernel(int count) {
  AwaitPrevious();
  GP_DYNAMIC_SHARED(float, values);
  for (int i = 0; i < count; ++i) values[i] = 0;
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(EmulatedBlock, FindsWritesBehindDynamicSharedMemory) {
  Launch(&WriteDynamicKernel, 1, 1, 32, nullptr, 8);
  EXPECT_THAT(ErrorOf([] { Launch(&WriteDynamicKernel, 1, 1, 32, nullptr, 9); }),
              HasSubstr("wrote past the end of its 32 bytes of dynamic shared memory"));
}
#else
__global__ void WriteSharedKernel(int index) {
  AwaitPrevious();
  GP_SHARED(float, values, [33]);
  values[index] = 0;
}

__global__ void WriteDeviceKernel(float* values, int index) {
  AwaitPrevious();
  values[index] = 0;
}

TEST(EmulatedBlockDeathTest, AddressSanitizerSeesTheEndsOfAllMemory) {
  EXPECT_DEATH(Launch(&WriteDynamicKernel, 1, 1, 32, nullptr, 9), "use-after-poison");
  volatile int behind = 33;  // volatile, so that the compiler does not see the index
  EXPECT_DEATH(Launch(&WriteSharedKernel, 1, 1, 0, nullptr, behind), "out of bounds|overflow");
  float* values = nullptr;
  ASSERT_EQ(cudaMalloc(&values, 33 * sizeof(float)), cudaSuccess);
  EXPECT_DEATH(Launch(&WriteDeviceKernel, 1, 1, 0, nullptr, values, behind),
               "heap-buffer-overflow");
  ASSERT_EQ(cudaFree(values), cudaSuccess);
}
#endif

cudaError_t CodeOf(dim3 grid, dim3 block, size_t shared_bytes) {
  try {
    Launch(&SkipBarrierKernel, grid, block, shared_bytes, nullptr);
  } catch (const CudaError& error) {
    return error.code();
  }
  return cudaSuccess;
}

TEST(EmulatedBlock, RefusesShapesThatADeviceRefuses) {
  EXPECT_EQ(CodeOf(1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(CodeOf(0, 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(CodeOf(dim3(1, 65536), 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(CodeOf(1, 1, size_t{227} << 10), cudaSuccess);
  EXPECT_EQ(CodeOf(1, 1, size_t{228} << 10), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gp::engine
