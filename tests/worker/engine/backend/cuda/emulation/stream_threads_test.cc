// Goal: any thread may wait for the work of all streams while others create and destroy streams, as
// the ranks of a test do.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "worker/engine/backend/cuda/emulation/work_queue.h"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kRounds = 500;

// What one rank does: work on its stream, an event that a second stream waits for, and memory.
// Releasing the memory waits for the work of all threads.
void UseAStream() {
  cudaStream_t stream = nullptr;
  cudaStream_t waiting = nullptr;
  cudaEvent_t event = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&memory, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 0, sizeof(int), stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(waiting, event, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(waiting), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
}

class EmulatedStreamThreads : public testing::TestWithParam<bool> {};

TEST_P(EmulatedStreamThreads, DestroyStreamsWhileOthersWaitForAllWork) {
  const bool was_deferred = cuda_emulation::IsDeferred();
  cuda_emulation::SetDeferred(GetParam());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < kRounds; ++round) UseAStream();
    });
  }
  threads.clear();
  cuda_emulation::SetDeferred(was_deferred);
}

INSTANTIATE_TEST_SUITE_P(Work, EmulatedStreamThreads, testing::Values(false, true),
                         [](const auto& mode) { return mode.param ? "Deferred" : "AtOnce"; });

}  // namespace
}  // namespace gp::engine
