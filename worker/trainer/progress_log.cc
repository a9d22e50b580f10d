#include "worker/trainer/progress_log.h"

#include <cmath>

#include "base/duration.h"
#include "base/log.h"

namespace gp::engine {
namespace {

constexpr double kFirstLossTolerance = 0.5;

std::string TimeLeft(const contract::TrainingPoint& point, int64_t target_steps) {
  if (target_steps == 0) return "unknown";
  const double seconds = static_cast<double>(target_steps - point.step) * point.step_seconds;
  return FormatDuration(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

}  // namespace

void ProgressLog::Add(const contract::TrainingPoint& point, int64_t target_steps) {
  const MonotonicTime now = clock_.Now();
  const bool due = !last_line_ || now - *last_line_ >= interval_;
  const bool notable = point.validation_loss || point.step == target_steps;
  if (!due && !notable) return;
  last_line_ = now;
  const std::string target = target_steps > 0 ? std::to_string(target_steps) : "?";
  const std::string validation =
      point.validation_loss ? fmt::format("{:.4f}", *point.validation_loss) : "-";
  LogInfo("progress", {{"step", fmt::format("{}/{}", point.step, target)},
                       {"loss", fmt::format("{:.4f}", point.loss)},
                       {"val_loss", validation},
                       {"lr", fmt::format("{:.3g}", point.learning_rate)},
                       {"grad_norm", fmt::format("{:.3g}", point.gradient_norm)},
                       {"tokens_per_second", fmt::format("{:.0f}", point.tokens_per_second)},
                       {"mfu", fmt::format("{:.1f}%", point.mfu * 100)},
                       {"step_ms", fmt::format("{:.1f}", point.step_seconds * 1e3)},
                       {"left", TimeLeft(point, target_steps)}});
}

std::optional<std::string> FirstLossWarning(double loss, int64_t vocabulary) {
  const double expected = std::log(static_cast<double>(vocabulary));
  if (std::abs(loss - expected) <= kFirstLossTolerance) return std::nullopt;
  return fmt::format(
      "the first loss {:.4f} is far from ln({}) = {:.4f}, that of an untrained model: "
      "check "
      "data, tokenizer and initialisation",
      loss, vocabulary, expected);
}

}  // namespace gp::engine
