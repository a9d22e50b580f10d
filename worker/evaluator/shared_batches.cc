#include "worker/evaluator/shared_batches.h"

#include <algorithm>
#include <limits>

#include "base/machine/progress.h"

namespace gp::engine {
namespace {

// Batches that each rank computes before the ranks synchronise, which takes less time than one
// batch.
constexpr int64_t kRounds = 8;

}  // namespace

void ComputeShared(Communicator& communicator, int64_t results_each, std::span<double> results,
                   const ComputeBatch& compute, const BatchesDone& done) {
  // The maximum over the ranks completes the results without rounding.
  std::fill(results.begin(), results.end(), std::numeric_limits<double>::lowest());
  const auto of = [&](int64_t first, int64_t count) {
    return results.subspan(static_cast<size_t>(first * results_each),
                           static_cast<size_t>(count * results_each));
  };
  const int64_t batches = std::ssize(results) / results_each;
  const int64_t together = kRounds * communicator.size();
  for (int64_t first = 0; first < batches; first += together) {
    const int64_t end = std::min(first + together, batches);
    for (int64_t i = first + communicator.rank(); i < end; i += communicator.size()) {
      compute(i, of(i, 1));
      progress::Tick();
    }
    communicator.AllReduceMax(of(first, end - first));
    if (done) done(end);
  }
}

}  // namespace gp::engine
