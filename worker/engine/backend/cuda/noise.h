// Noise: device memory with values like those of a training, for work that is timed. One owner; any
// thread.
#pragma once

#include <cstdint>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/runtime.h"

namespace gp::engine {

// Memory that products read: normally distributed, because the power that a tensor core draws, and
// with it the clock, depends on the bits; with a standard deviation of `deviation`.
class Noise {
 public:
  Noise(int64_t count, DataType type, float deviation, const CudaStream& stream);

  Buffer buffer() const { return {memory_.data(), type_}; }

 private:
  const DataType type_;
  DeviceMemory memory_;
};

}  // namespace gp::engine
