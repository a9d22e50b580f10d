// ChoiceScorer: the losses of the endings of multiple-choice questions. All endings of all
// questions are rows; rows of similar length make a batch, and the ranks of a group divide the
// batches. One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/choice_row.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/evaluator/shared_batches.h"

namespace gp::engine {

class ChoiceScorer {
 public:
  // Batches of at most `sequences_max` rows. `rows` must outlive this object and fit the model's
  // context.
  ChoiceScorer(std::span<const tasks::ChoiceRow> rows, int64_t sequences_max);

  int64_t batch_count() const;

  // The nats of each row's ending, in the rows' order: the same bits on every rank and for every
  // world size. Infinity replaces NaN. A collective operation; `before_batch` may throw to abort
  // it.
  std::vector<double> Score(LanguageModel& model, Communicator& communicator,
                            const std::function<void()>& before_batch = {},
                            const BatchesDone& done = {}) const;

  // Computes the losses of one batch on this rank; also used to time a batch.
  void ScoreBatch(LanguageModel& model, int64_t batch, std::span<double> nats) const;

 private:
  std::span<const size_t> RowsOf(int64_t batch) const;

  const std::span<const tasks::ChoiceRow> rows_;
  const int64_t sequences_max_;
  std::vector<size_t>
      order_;  // the longest row first: the one that needs most memory fails at once
};

}  // namespace gp::engine
