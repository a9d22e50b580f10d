// StepBench: one rank's training step on a fixed batch, timed by phase, for `gp-bench step` and
// `gp-bench ladder`. Owned by main; one thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/engine/model/make_language_model.h"
#include "worker/engine/optim/adamw.h"

namespace gp::engine {

struct StepTimes {
  double forward_ms = 0;
  double backward_ms = 0;
  double optimizer_ms = 0;  // norm, clip and AdamW

  double total_ms() const { return forward_ms + backward_ms + optimizer_ms; }
};

class StepBench {
 public:
  explicit StepBench(const ModelOptions& options, bool fused_optimizer = true);
  // `model` was made with `options`.
  StepBench(const ModelOptions& options, std::unique_ptr<LanguageModel> model,
            bool fused_optimizer);

  // Runs `count` steps. Like the trainer's, each step waits for its loss and gradient norm; the
  // call waits for all work at its end. Times are the backend's.
  std::vector<StepTimes> Run(int count);
  StepTimes Step() { return Run(1).front(); }

  double loss() const { return loss_; }  // mean loss of the last step
  int64_t tokens() const { return static_cast<int64_t>(tokens_.size()); }
  LanguageModel& model() { return *model_; }

 private:
  // The numbers of a step that the host or the update reads; in backend memory.
  struct Scalars {
    double loss = 0;
    double sum_of_squares = 0;
    float factor = 0;
  };

  // Sets the time marks `mark` and the two after it at the beginning of the three phases.
  void QueueStep(int mark);

  const ModelOptions options_;
  std::unique_ptr<LanguageModel> model_;
  AdamW optimizer_;
  std::span<float> gradients_;
  Scalars* scalars_;
  Scalars* read_;  // in host memory
  std::vector<int32_t> tokens_;
  std::vector<int32_t> targets_;
  double loss_ = 0;
};

}  // namespace gp::engine
