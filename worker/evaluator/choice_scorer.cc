#include "worker/evaluator/choice_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gp::engine {
namespace {

using tasks::ChoiceRow;

// Writes a row and its targets, which are the ending's tokens. The rest is padded with token 0 and
// target -1; causal attention never reads it.
void FillRow(const ChoiceRow& row, std::span<int32_t> tokens, std::span<int32_t> targets) {
  const auto length = static_cast<size_t>(row.input_length());
  const size_t first = length - static_cast<size_t>(row.scored);
  for (size_t i = 0; i < length; ++i) {
    tokens[i] = row.tokens[i];
    if (i >= first) targets[i] = row.tokens[i + 1];
  }
}

}  // namespace

ChoiceScorer::ChoiceScorer(std::span<const ChoiceRow> rows, int64_t sequences_max)
    : rows_(rows), sequences_max_(sequences_max), order_(rows.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return rows[a].input_length() > rows[b].input_length();
  });
}

int64_t ChoiceScorer::batch_count() const {
  return (std::ssize(order_) + sequences_max_ - 1) / sequences_max_;
}

std::span<const size_t> ChoiceScorer::RowsOf(int64_t batch) const {
  const auto first = static_cast<size_t>(batch * sequences_max_);
  return std::span(order_).subspan(
      first, std::min(static_cast<size_t>(sequences_max_), order_.size() - first));
}

void ChoiceScorer::ScoreBatch(LanguageModel& model, int64_t batch, std::span<double> nats) const {
  const std::span<const size_t> members = RowsOf(batch);
  const int64_t length = rows_[members[0]].input_length();
  std::vector<int32_t> tokens(members.size() * static_cast<size_t>(length), 0);
  std::vector<int32_t> targets(tokens.size(), -1);
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t offset = i * static_cast<size_t>(length);
    FillRow(rows_[members[i]], std::span(tokens).subspan(offset),
            std::span(targets).subspan(offset));
  }
  model.SequenceLosses({tokens, targets, std::ssize(members), length}, nats.first(members.size()));
  for (double& loss : nats.first(members.size())) {
    if (!std::isfinite(loss)) loss = std::numeric_limits<double>::infinity();
  }
}

std::vector<double> ChoiceScorer::Score(LanguageModel& model, Communicator& communicator,
                                        const std::function<void()>& before_batch,
                                        const BatchesDone& done) const {
  std::vector<double> results(static_cast<size_t>(batch_count() * sequences_max_));
  const auto compute = [&](int64_t batch, std::span<double> nats) {
    if (before_batch) before_batch();
    ScoreBatch(model, batch, nats);
  };
  ComputeShared(communicator, sequences_max_, results, compute, done);
  std::vector<double> nats(rows_.size());
  for (size_t i = 0; i < nats.size(); ++i) nats[order_[i]] = results[i];
  return nats;
}

}  // namespace gp::engine
