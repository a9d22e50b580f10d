#include "worker/evaluator/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace gp::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums of a batch.
enum Sum : size_t { kLoss, kTokens, kBytes, kSums };

void Sums(LanguageModel& model, const TokenBatch& batch, const TokenBytes& token_bytes,
          std::span<double> sums) {
  const double loss = model.Loss(batch);
  sums[kLoss] = std::isfinite(loss) ? loss : kInfinity;
  sums[kTokens] = static_cast<double>(std::count_if(batch.targets.begin(), batch.targets.end(),
                                                    [](int32_t target) { return target >= 0; }));
  const auto bytes = token_bytes.Sum(batch.targets);
  sums[kBytes] = bytes ? static_cast<double>(*bytes) : kInfinity;
}

}  // namespace

std::optional<double> Evaluation::bits_per_byte() const {
  if (!bytes || *bytes == 0) return std::nullopt;
  const double bits = loss * static_cast<double>(tokens) / std::numbers::ln2;
  return bits / static_cast<double>(*bytes);
}

std::optional<Evaluation> Evaluate(LanguageModel& model, Communicator& communicator,
                                   int64_t batch_count, const BatchAt& batch_at,
                                   const TokenBytes& token_bytes, const BatchesDone& done) {
  std::vector<double> results(static_cast<size_t>(batch_count) * kSums);
  const auto compute = [&](int64_t index, std::span<double> sums) {
    Sums(model, batch_at(index), token_bytes, sums);
  };
  ComputeShared(communicator, kSums, results, compute, done);
  // Every rank adds in the same order.
  double total[kSums] = {};
  for (size_t i = 0; i < results.size(); ++i) total[i % kSums] += results[i];
  if (total[kTokens] == 0) return std::nullopt;
  Evaluation evaluation{.loss = total[kLoss] / total[kTokens],
                        .tokens = static_cast<int64_t>(total[kTokens])};
  for (size_t i = 0; i < results.size(); i += kSums) {
    const WindowLoss window{results[i + kLoss], static_cast<int64_t>(results[i + kTokens])};
    if (window.tokens > 0) evaluation.windows.push_back(window);
  }
  if (std::isfinite(total[kBytes])) evaluation.bytes = static_cast<int64_t>(total[kBytes]);
  return evaluation;
}

}  // namespace gp::engine
