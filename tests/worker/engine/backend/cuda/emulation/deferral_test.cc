// Goal: deferred work runs exactly when a wait requires it, in the order of streams and events, so
// that tests see every effect that a missing wait can have on a device.
#include <gtest/gtest.h>

#include "worker/engine/backend/cuda/emulation/work_queue.h"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

__global__ void AddKernel(int* value, int added) {
  AwaitPrevious();
  *value += added;
}
__global__ void DoubleKernel(int* value) {
  AwaitPrevious();
  *value *= 2;
}

class EmulatedDeferral : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&event_), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&device_, sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&pinned_, sizeof(int)), cudaSuccess);
    *pinned_ = 1;
    ASSERT_EQ(cudaMemcpy(device_, pinned_, sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
    was_deferred_ = cuda_emulation::IsDeferred();
    cuda_emulation::SetDeferred(true);
  }
  void TearDown() override {
    cuda_emulation::SetDeferred(was_deferred_);
    ASSERT_EQ(cudaFreeHost(pinned_), cudaSuccess);
    ASSERT_EQ(cudaFree(device_), cudaSuccess);
    ASSERT_EQ(cudaEventDestroy(event_), cudaSuccess);
    ASSERT_EQ(cudaStreamDestroy(other_), cudaSuccess);
    ASSERT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  void Fetch(cudaStream_t stream) {
    ASSERT_EQ(cudaMemcpyAsync(pinned_, device_, sizeof(int), cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
  }

  cudaStream_t stream_ = nullptr;
  cudaStream_t other_ = nullptr;
  cudaEvent_t event_ = nullptr;
  int* device_ = nullptr;
  int* pinned_ = nullptr;
  bool was_deferred_ = false;
};

TEST_F(EmulatedDeferral, NothingRunsBeforeSomebodyWaits) {
  Launch(&AddKernel, 1, 1, 0, stream_, device_, 4);
  Fetch(stream_);
  EXPECT_EQ(*pinned_, 1);
  ASSERT_EQ(cudaStreamSynchronize(other_), cudaSuccess);
  EXPECT_EQ(*pinned_, 1);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(*pinned_, 5);
}

TEST_F(EmulatedDeferral, PinnedMemoryIsReadWhenTheCopyRuns) {
  *pinned_ = 7;
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, sizeof(int), cudaMemcpyHostToDevice, stream_),
            cudaSuccess);
  *pinned_ = 8;  // too early: the copy has not run yet
  Fetch(stream_);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*pinned_, 8);
}

TEST_F(EmulatedDeferral, PageableMemoryIsReadAtOnce) {
  int pageable = 7;
  ASSERT_EQ(cudaMemcpyAsync(device_, &pageable, sizeof(int), cudaMemcpyHostToDevice, stream_),
            cudaSuccess);
  pageable = 8;
  Fetch(stream_);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(*pinned_, 7);
}

TEST_F(EmulatedDeferral, EventsOrderStreams) {
  Launch(&AddKernel, 1, 1, 0, stream_, device_, 4);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  Launch(&AddKernel, 1, 1, 0, stream_, device_, 100);  // the event does not cover this launch
  ASSERT_EQ(cudaStreamWaitEvent(other_, event_, 0), cudaSuccess);
  Launch(&DoubleKernel, 1, 1, 0, other_, device_);
  Fetch(other_);
  ASSERT_EQ(cudaStreamSynchronize(other_), cudaSuccess);
  EXPECT_EQ(*pinned_, 10);
}

TEST_F(EmulatedDeferral, AskingMakesWorkGoOn) {
  Launch(&AddKernel, 1, 1, 0, stream_, device_, 4);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, event_), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, event_), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
}

TEST_F(EmulatedDeferral, GraphsOutliveTheirHandles) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  Launch(&AddKernel, 1, 1, 0, stream_, device_, 4);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  Fetch(stream_);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(*pinned_, 5);
}

}  // namespace
}  // namespace gp::engine
