#include "worker/bench/timed_backend.h"

#include <gtest/gtest.h>

#include "worker/engine/fakes/detached_backend.h"

namespace gp::engine {
namespace {

class QueuedBackend final : public DetachedBackend {
 public:
  QueuedBackend() : DetachedBackend(CpuBackendOptions()) {}
  void* queue() override { return this; }
};

// A communicator between GPUs needs the device's queue to order its work after the backend's.
TEST(TimedBackend, HasTheQueueOfTheBackendThatItTimes) {
  auto inner = std::make_unique<QueuedBackend>();
  void* const queue = inner->queue();
  TimedBackend timed(std::move(inner));
  EXPECT_EQ(timed.queue(), queue);
  TimedBackend on_cpu(MakeCpuBackend({}));
  EXPECT_EQ(on_cpu.queue(), nullptr);
}

}  // namespace
}  // namespace gp::engine
