// TrainingSamples: generates text with a run's model while it trains: always the same prompt, and a
// new random key at every step. Rank 0 only. One thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/engine/model/gpt2_decoder.h"
#include "worker/trainer/prepared_run.h"

namespace gp::engine {

class TrainingSamples {
 public:
  // `run` must outlive this object. Allocates the decoder's memory. A prompt that the vocabulary
  // cannot express or that has no tokens is replaced, with a warning, by the text's first token, or
  // for a stream by the end-of-text token.
  explicit TrainingSamples(PreparedRun& run);

  // The continuation of the prompt.
  std::string Write(int64_t step, const std::stop_token& stop);

  // Tokens of a sample beyond the window. For each of them the whole window is computed again.
  int64_t recomputed_tokens() const;

  // Computes one token of either kind, so that the caller can measure its time.
  void TryToken(bool recomputed);

 private:
  PreparedRun& run_;
  Gpt2Decoder decoder_;     // reads the model's weights
  const int64_t drawable_;  // number of token ids to draw from, as in TextWriter
  std::vector<int32_t> prompt_;
};

}  // namespace gp::engine
