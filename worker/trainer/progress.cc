#include "worker/trainer/progress.h"

#include <cmath>

#include "base/duration.h"
#include "base/log.h"

namespace gp::engine {
namespace {

constexpr double kFirstLossTolerance = 0.5;

std::string TimeLeft(const link::StepReport& report, int64_t target_steps) {
  if (target_steps == 0) return "unknown";
  const double seconds = static_cast<double>(target_steps - report.step) * report.step_seconds;
  return FormatDuration(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

}  // namespace

void Progress::Step(const link::StepReport& report, int64_t target_steps) {
  const MonotonicTime now = clock_.Now();
  const bool due = !last_line_ || now - *last_line_ >= interval_;
  const bool notable = report.validation_loss || report.step == target_steps;
  if (!due && !notable) return;
  last_line_ = now;
  const std::string target = target_steps > 0 ? std::to_string(target_steps) : "?";
  const std::string validation =
      report.validation_loss ? fmt::format("{:.4f}", *report.validation_loss) : "-";
  LogInfo("progress", {{"step", fmt::format("{}/{}", report.step, target)},
                       {"loss", fmt::format("{:.4f}", report.loss)},
                       {"val_loss", validation},
                       {"lr", fmt::format("{:.3g}", report.learning_rate)},
                       {"grad_norm", fmt::format("{:.3g}", report.gradient_norm)},
                       {"tokens_per_second", fmt::format("{:.0f}", report.tokens_per_second)},
                       {"mfu", fmt::format("{:.1f}%", report.mfu * 100)},
                       {"step_ms", fmt::format("{:.1f}", report.step_seconds * 1e3)},
                       {"left", TimeLeft(report, target_steps)}});
}

std::optional<std::string> FirstLossWarning(double loss, int64_t vocabulary) {
  const double expected = std::log(static_cast<double>(vocabulary));
  if (std::abs(loss - expected) <= kFirstLossTolerance) return std::nullopt;
  return fmt::format(
      "the first loss {:.4f} is far from ln({}) = {:.4f}, that of a model that knows nothing: "
      "check "
      "data, tokenizer and initialisation",
      loss, vocabulary, expected);
}

}  // namespace gp::engine
