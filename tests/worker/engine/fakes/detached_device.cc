// Implements device_backend.h with DetachedBackend: programs that link it treat this as a GPU.
#include <stdexcept>

#include "worker/engine/backend/device_backend.h"
#include "worker/engine/fakes/detached_backend.h"

namespace gp::engine {
namespace {

constexpr int64_t kMemoryBytes = int64_t{64} << 30;

}  // namespace

DeviceInfo FindDevice() {
  return {.name = "Detached",
          .kernels = "detached",
          .memory_bytes = kMemoryBytes,
          .free_bytes = kMemoryBytes,
          .lacks = {{"tf32", "is a CPU in disguise"},
                    {"fp16", "is a CPU in disguise"},
                    {"fp8", "is a CPU in disguise"},
                    {"cudnn", "is a CPU in disguise"}},
          .tuning = "here|tuned before",
          .tuning_prefix = "here|"};
}

DeviceBackend MakeDeviceBackend(const DeviceBackendOptions& options) {
  const std::string tuning = options.tuning.empty() ? "chosen now" : options.tuning;
  return {.backend = std::make_unique<DetachedBackend>(
              CpuBackendOptions{.threads = 1,
                                .sequence = options.arena.sequence,
                                .head_size = options.shape.channels / options.shape.heads},
              options.graph),
          .choices = {.tuning = tuning, .attention = "flash"}};
}

}  // namespace gp::engine
