#include "worker/engine/eval/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gp::engine {

std::optional<double> Evaluate(LanguageModel& model, Communicator& communicator,
                               int64_t batch_count, const BatchAt& batch_at) {
  // Loss and tokens of each batch, 0 for those of other ranks: the maximum over the ranks completes
  // both without rounding, and every rank adds them in the same order.
  std::vector<double> sums(static_cast<size_t>(2 * batch_count), 0.0);
  const std::span<double> losses = std::span(sums).first(static_cast<size_t>(batch_count));
  const std::span<double> tokens = std::span(sums).last(static_cast<size_t>(batch_count));
  for (int64_t i = communicator.rank(); i < batch_count; i += communicator.size()) {
    const TokenBatch batch = batch_at(i);
    const double loss = model.Loss(batch);
    losses[static_cast<size_t>(i)] =
        std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
    tokens[static_cast<size_t>(i)] = static_cast<double>(std::count_if(
        batch.targets.begin(), batch.targets.end(), [](int32_t t) { return t >= 0; }));
  }
  communicator.AllReduceMax(sums);
  double loss = 0;
  double count = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    loss += losses[i];
    count += tokens[i];
  }
  if (count == 0) return std::nullopt;
  return loss / count;
}

}  // namespace gp::engine
