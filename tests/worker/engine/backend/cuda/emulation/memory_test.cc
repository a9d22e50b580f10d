// Goal: device memory is NaN at first, copies are checked against their allocations, memory can run
// out, and a machine may have no device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "worker/engine/backend/cuda/emulation/devices.h"

namespace gp::cuda_emulation {
namespace {

class EmulatedMemory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaMalloc(&device_, 8 * sizeof(float)), cudaSuccess); }
  void TearDown() override {
    SetDevices(DefaultDevice());
    ASSERT_EQ(cudaFree(device_), cudaSuccess);
    cudaGetLastError();
  }
  float* device_ = nullptr;
  std::vector<float> host_ = std::vector<float>(9);
};

TEST_F(EmulatedMemory, BeginsAsNotANumber) {
  ASSERT_EQ(cudaMemcpy(host_.data(), device_, 32, cudaMemcpyDeviceToHost), cudaSuccess);
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(std::isnan(host_[i]));
}

TEST_F(EmulatedMemory, CopiesAreChecked) {
  EXPECT_EQ(cudaMemcpy(device_, host_.data(), 32, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device_, host_.data(), 36, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device_ + 4, device_, 20, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host_.data(), device_, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host_.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST_F(EmulatedMemory, KnowsWhatAPointerIs) {
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, device_ + 7), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, host_.data()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4), cudaSuccess);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(EmulatedMemory, Ends) {
  cudaDeviceProp device = DefaultDevice();
  device.totalGlobalMem = 1000;
  SetDevices(device);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 969), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaMalloc(&more, 968), cudaSuccess);
  size_t free = 1;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 0u);
  EXPECT_EQ(total, 1000u);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
}

TEST_F(EmulatedMemory, ThereMayBeNoDevice) {
  SetDevices(DefaultDevice(), 0);
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorInvalidDevice);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorNoDevice);
}

}  // namespace
}  // namespace gp::cuda_emulation
