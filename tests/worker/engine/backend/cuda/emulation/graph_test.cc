// Goal: capture records work instead of running it; replay runs it with the recorded arguments on
// the memory's current content; calls that a capture forbids fail with CUDA's error codes and
// invalidate it.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

__global__ void GraphAddKernel(int* value, int added) {
  AwaitPrevious();
  *value += added;
}
__global__ void GraphDoubleKernel(int* value) {
  AwaitPrevious();
  *value *= 2;
}

class EmulatedGraph : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&value_, sizeof(int)), cudaSuccess);
    Set(1);
  }
  void TearDown() override {
    ASSERT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    ASSERT_EQ(cudaFree(value_), cudaSuccess);
    cudaGetLastError();
  }
  void Begin() {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  void Set(int value) {
    ASSERT_EQ(cudaMemcpy(value_, &value, sizeof(value), cudaMemcpyHostToDevice), cudaSuccess);
  }
  int Get() {
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, value_, sizeof(value), cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

  cudaStream_t stream_ = nullptr;
  int* value_ = nullptr;
};

TEST_F(EmulatedGraph, ReplaysWhatWasCaptured) {
  Begin();
  int added = 3;
  Launch(&GraphAddKernel, 1, 1, 0, stream_, value_, added);
  added = 100;
  Launch(&GraphDoubleKernel, 1, 1, 0, stream_, value_);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(Get(), 1);
  size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 2u);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  EXPECT_EQ(Get(), 8);
  Set(10);
  ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  EXPECT_EQ(Get(), 26);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(EmulatedGraph, ForbiddenCallsSpoilTheCapture) {
  const std::vector<std::function<cudaError_t()>> forbidden = {
      [&] { return cudaStreamSynchronize(stream_); },
      [] { return cudaDeviceSynchronize(); },
      [] {
        void* memory = nullptr;
        return cudaMalloc(&memory, 16);
      },
      [&] {
        int host = 0;
        return cudaMemcpy(&host, value_, sizeof(host), cudaMemcpyDeviceToHost);
      },
  };
  for (const auto& call : forbidden) {
    Begin();
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    EXPECT_THROW(Launch(&GraphDoubleKernel, 1, 1, 0, stream_, value_), CudaError);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  }
  EXPECT_EQ(Get(), 1);
}

TEST_F(EmulatedGraph, TheLegacyStreamIsInTheWay) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  Begin();
  EXPECT_EQ(cudaMemsetAsync(value_, 0, sizeof(int), nullptr), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(EmulatedGraph, OtherStreamsTakePartThroughEvents) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), cudaSuccess);
  for (const bool joins : {false, true}) {
    Begin();
    ASSERT_EQ(cudaEventRecord(fork, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
    Launch(&GraphAddKernel, 1, 1, 0, other, value_, 4);
    ASSERT_EQ(cudaEventRecord(join, other), cudaSuccess);
    if (joins) {
      ASSERT_EQ(cudaStreamWaitEvent(stream_, join, 0), cudaSuccess);
    }
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph),
              joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  EXPECT_EQ(Get(), 1);
  Launch(&GraphAddKernel, 1, 1, 0, other, value_, 4);
  EXPECT_EQ(Get(), 5);
  ASSERT_EQ(cudaEventDestroy(join), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(fork), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

}  // namespace
}  // namespace gp::engine
