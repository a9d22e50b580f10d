// NoiseSource: memory of a backend filled with plausible values, for timing: with zeros a GPU draws
// less power and clocks higher, so operations would look faster. Borrows the backend; one thread
// calls.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

class NoiseSource {
 public:
  explicit NoiseSource(Backend& backend);

  // About uniform in (-0.2, 0.2).
  Buffer Values(int64_t count, DataType type);
  // In [0, vocabulary).
  int32_t* Ids(int64_t count, int64_t vocabulary);

 private:
  Backend& backend_;
  std::vector<float> block_;        // values that are repeated
  float* backend_block_ = nullptr;  // the same in backend memory
};

}  // namespace gp::engine
