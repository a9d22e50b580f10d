// TrainingSamples: the text that a run's model writes while it trains: the same prompt, a new
// random key at every step. Rank 0's. One thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/engine/trainer/prepared_run.h"

namespace gp::engine {

class TrainingSamples {
 public:
  // `run` outlives me. A prompt that the vocabulary cannot express is replaced by the text's first
  // token, with a warning.
  explicit TrainingSamples(PreparedRun& run);

  // What follows the prompt.
  std::string Write(int64_t step, const std::stop_token& stop);

  // Computes one token as late in a sample as the window is full, for the time it takes.
  void TryToken();

 private:
  PreparedRun& run_;
  std::vector<int32_t> prompt_;
};

}  // namespace gp::engine
