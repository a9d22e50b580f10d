// RunEvaluation: evaluates a run's model during training: the loss and the bits per byte on its
// validation split, and its answers to the tasks of the run file. Owned by the training; one
// thread. The ranks of a group call it together and get the same bits.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "tokenizer/token_bytes.h"
#include "worker/evaluator/choice_scorer.h"
#include "worker/trainer/prepared_run.h"
#include "worker/trainer/state/loop_state.h"

namespace gp::engine {

class RunEvaluation {
 public:
  // `run` (after CompleteRun) and `communicator` must outlive this object.
  RunEvaluation(PreparedRun& run, Communicator& communicator);

  // Both add their results to `evaluated`, and throw TrainingStopped between two batches when
  // `stop` is requested.
  void Validate(const std::stop_token& stop, Evaluated& evaluated);
  void AskTasks(const std::stop_token& stop, Evaluated& evaluated);

  // The number of batches of one evaluation, over all ranks. The Try functions compute one batch on
  // this rank alone, so that the caller can time it (budget.wall_time).
  int64_t validation_batches() const;
  void TryValidationBatch();
  int64_t task_batches() const;
  void TryTaskBatch();

 private:
  TokenBatch ValidationBatch(int64_t index);
  ChoiceScorer ScorerOf(const PreparedTask& task) const;

  PreparedRun& run_;
  Communicator& communicator_;
  const TokenBytes token_bytes_;
  std::vector<int32_t> tokens_;   // (micro_batch, sequence)
  std::vector<int32_t> targets_;  // (micro_batch, sequence)
};

}  // namespace gp::engine
