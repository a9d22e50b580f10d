#include "client/gpctl/commands/results/paired_windows.h"

#include <cmath>

#include "client/api/student_quantile.h"

namespace gp::gpctl {

std::optional<double> PairedDifference::margin() const {
  if (!standard_error) return std::nullopt;
  return *standard_error * client::StudentQuantile(windows - 1);
}

bool PairedDifference::is_clear() const {
  return standard_error && std::fabs(difference) > *margin();
}

StatusOr<PairedDifference> ComparePairs(const std::vector<WindowLoss>& first,
                                        const std::vector<WindowLoss>& second) {
  bool same = first.size() == second.size() && !first.empty();
  for (size_t i = 0; same && i < first.size(); ++i) same = first[i].tokens == second[i].tokens;
  if (!same) {
    return FailedPrecondition(
        "the checkpoints were measured on different windows ({} and {}): their tokenizers, "
        "sequence lengths or validation data differ",
        first.size(), second.size());
  }
  PairedDifference paired{.windows = static_cast<int64_t>(first.size())};
  double nats[2] = {};
  for (size_t i = 0; i < first.size(); ++i) {
    paired.tokens += first[i].tokens;
    nats[0] += first[i].nats;
    nats[1] += second[i].nats;
  }
  const auto tokens = static_cast<double>(paired.tokens);
  paired.first = nats[0] / tokens;
  paired.second = nats[1] / tokens;
  paired.difference = paired.second - paired.first;
  if (first.size() < 2 || !std::isfinite(paired.difference)) return paired;
  // The variance of a mean that weighs each window by its tokens.
  double squares = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    const auto size = static_cast<double>(first[i].tokens);
    const double deviation = (second[i].nats - first[i].nats) / size - paired.difference;
    squares += size / tokens * (size / tokens) * deviation * deviation;
  }
  const auto count = static_cast<double>(first.size());
  paired.standard_error = std::sqrt(squares * count / (count - 1));
  return paired;
}

}  // namespace gp::gpctl
