// Goal: allocated memory is zero, the source of an upload can be reused at once, uploads arrive in
// order, graphs replay what was recorded, and error messages suggest what to do.
#include "worker/engine/backend/cuda/runtime/runtime.h"

#include <gtest/gtest.h>

#include <vector>

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/runtime/cuda_device.h"
#include "worker/engine/backend/cuda/runtime/graph_cache.h"
#include "worker/engine/backend/cuda/runtime/upload_staging.h"

namespace gp::engine {
namespace {

using CudaRuntime = DeviceTest;

std::vector<int32_t> Read(const DeviceMemory& memory, size_t count, const CudaStream& stream) {
  stream.Synchronize();
  std::vector<int32_t> values(count);
  CheckCuda(cudaMemcpy(values.data(), memory.data(), count * 4, cudaMemcpyDeviceToHost),
            "cudaMemcpy");
  return values;
}

void CopyInts(const DeviceMemory& to, const DeviceMemory& from, size_t count,
              const CudaStream& stream) {
  CheckCuda(
      cudaMemcpyAsync(to.data(), from.data(), count * 4, cudaMemcpyDeviceToDevice, stream.get()),
      "cudaMemcpyAsync");
}

TEST_F(CudaRuntime, MemoryOfTheDeviceBeginsAsZeros) {
  const CudaStream stream;
  EXPECT_EQ(Read(DeviceMemory(400), 100, stream), std::vector<int32_t>(100));
  EXPECT_EQ(DeviceMemory(0).bytes(), 0);
}

TEST_F(CudaRuntime, AnErrorNamesTheCallTheDeviceAndTheWayOut) {
  try {
    DeviceMemory(int64_t{1} << 60);
    FAIL() << "an exbibyte was allocated";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorMemoryAllocation);
    const std::string message = error.what();
    EXPECT_NE(message.find("cudaMalloc of 1152921504606846976 bytes failed on device 0"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("lower batch.micro_batch"), std::string::npos) << message;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaRuntime, UploadsArriveInOrderAndFreeTheirSource) {
  const CudaStream stream;
  UploadStaging staging(stream);
  constexpr size_t kCount = 50000;
  const DeviceMemory memory(kCount * 4);
  std::vector<DeviceMemory> kept;
  std::vector<int32_t> source(kCount);
  for (int32_t i = 0; i < 40; ++i) {  // more than fits into the staging memory
    std::fill(source.begin(), source.end(), i);
    staging.Upload(memory.data(), source.data(), kCount * 4);
    std::fill(source.begin(), source.end(), -1);
    kept.emplace_back(kCount * 4);
    CopyInts(kept.back(), memory, kCount, stream);
  }
  for (int32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(Read(kept[static_cast<size_t>(i)], kCount, stream), std::vector<int32_t>(kCount, i));
  }
}

TEST_F(CudaRuntime, AnUploadMayBeLargerThanTheStagingMemory) {
  const CudaStream stream;
  UploadStaging staging(stream);
  const std::vector<int32_t> source(3 * UploadStaging::kSegmentBytes / 4, 7);
  const DeviceMemory memory(static_cast<int64_t>(source.size() * 4));
  staging.Upload(memory.data(), source.data(), memory.bytes());
  EXPECT_EQ(Read(memory, source.size(), stream), source);
}

TEST_F(CudaRuntime, WorkIsRunThenRecordedThenReplayed) {
  const CudaStream stream;
  GraphCache graphs(stream, true);
  const DeviceMemory to(4), from(4);
  int calls = 0;
  for (int32_t i = 1; i <= 4; ++i) {
    CheckCuda(cudaMemcpy(from.data(), &i, 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    graphs.Run({7}, [&] {
      ++calls;
      CopyInts(to, from, 1, stream);
    });
    EXPECT_EQ(Read(to, 1, stream)[0], i);
  }
  EXPECT_EQ(calls, 2);
}

TEST_F(CudaRuntime, KeysTellGraphsApartAndTheirNumberIsBounded) {
  const CudaStream stream;
  GraphCache graphs(stream, true);
  constexpr uint64_t kKeys = 2 * GraphCache::kGraphsMax;
  const DeviceMemory to(kKeys * sizeof(int)), from(kKeys * sizeof(int));
  for (int round = 0; round < 3; ++round) {
    for (uint64_t key = 0; key < kKeys; ++key) {
      graphs.Run({key}, [&] { CopyInts(to, from, 1 + key, stream); });
      EXPECT_LE(graphs.size(), GraphCache::kGraphsMax);
    }
  }
  stream.Synchronize();
}

TEST_F(CudaRuntime, WithoutGraphsWorkAlwaysRuns) {
  const CudaStream stream;
  GraphCache graphs(stream, false);
  int calls = 0;
  for (int i = 0; i < 3; ++i) graphs.Run({1}, [&] { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST_F(CudaRuntime, WorkThatAGraphCannotHoldFailsAndLeavesTheStreamUsable) {
  const CudaStream stream;
  GraphCache graphs(stream, true);
  const auto waits = [&] { stream.Synchronize(); };
  graphs.Run({1}, waits);
  EXPECT_THROW(graphs.Run({1}, waits), CudaError);
  stream.Synchronize();
  EXPECT_EQ(Read(DeviceMemory(4), 1, stream)[0], 0);
}

TEST_F(CudaRuntime, TimePassesBetweenEvents) {
  const CudaStream stream;
  const CudaEvent first(CudaEvent::Timing::kOn), last(CudaEvent::Timing::kOn);
  first.Record(stream);
  last.Record(stream);
  EXPECT_GE(MillisecondsBetween(first, last), 0);
}

TEST_F(CudaRuntime, TheDeviceIsDescribed) {
  const CudaDevice device = QueryDevice(0);
  EXPECT_FALSE(device.name.empty());
  EXPECT_GE(device.capability(), 75);
  EXPECT_GT(device.multiprocessors, 0);
  EXPECT_GT(device.memory_bytes, 0);
  EXPECT_EQ(CountDevices() > 0, true);
}

CudaDevice Card(const std::string& name, int major, int minor, int64_t gib) {
  return {.name = name, .major = major, .minor = minor, .memory_bytes = gib << 30};
}

TEST(CudaDevice, SupportsWhatItsComputeCapabilityAllows) {
  const auto works = [](const CudaDevice& device, const char* feature) {
    return SupportOf(device, feature).works;
  };
  const CudaDevice t4 = Card("Tesla T4", 7, 5, 15);
  EXPECT_TRUE(works(t4, "fp16"));
  EXPECT_FALSE(works(t4, "bf16"));
  EXPECT_FALSE(works(t4, "cudnn attention"));
  EXPECT_TRUE(works(Card("NVIDIA A100-SXM4-80GB", 8, 0, 79), "bf16"));
  EXPECT_FALSE(works(Card("NVIDIA A100-SXM4-80GB", 8, 0, 79), "fp8"));
  EXPECT_TRUE(works(Card("NVIDIA L4", 8, 9, 22), "fp8"));
  for (const CudaSupport& line : SupportOf(Card("NVIDIA H200", 9, 0, 139))) {
    EXPECT_TRUE(line.works) << line.feature;
    EXPECT_EQ(line.reason, "");
  }
  EXPECT_EQ(SupportOf(t4, "bf16").reason,
            "needs compute capability 8.0, Tesla T4 has 7.5; use precision: fp16, which scales its "
            "loss");
  EXPECT_FALSE(works(Card("Tesla V100-SXM2-16GB", 7, 0, 16), "fp32"));
  EXPECT_THROW(SupportOf(t4, "fp64"), std::out_of_range);
}

}  // namespace
}  // namespace gp::engine
