#include "client/gpctl/commands/wait_condition.h"

#include <cmath>
#include <cstdlib>

#include "client/api/run_client.h"
#include "client/api/run_state_name.h"

namespace gp::gpctl {
namespace {

using Kind = WaitCondition::Kind;

// All whole numbers up to this one can be represented exactly as double.
constexpr double kStepMax = 9007199254740992;  // 2^53

// The text as a finite number; nullopt otherwise.
std::optional<double> Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::string> After(const std::string& text, const std::string& prefix) {
  if (text.rfind(prefix, 0) != 0) return std::nullopt;
  return text.substr(prefix.size());
}

std::optional<WaitCondition> ParseState(const std::string& name) {
  const v1::RunState state = client::StateNamed(name);
  if (state == v1::RUN_STATE_UNSPECIFIED) return std::nullopt;
  return WaitCondition{.kind = Kind::kState, .state = state};
}

StatusOr<WaitCondition> ParseStep(const std::string& text) {
  const auto value = Number(text);
  if (!value || *value < 0 || *value > kStepMax || std::floor(*value) != *value) {
    return InvalidArgument("--for step={}: expected a whole number such as step=1000", text);
  }
  return WaitCondition{.kind = Kind::kStep, .step = static_cast<int64_t>(*value)};
}

StatusOr<WaitCondition> ParseLoss(const std::string& text, const std::string& prefix, Kind kind) {
  const auto value = Number(text);
  if (!value) {
    return InvalidArgument("--for {0}{1}: expected a finite number such as {0}2.5", prefix, text);
  }
  return WaitCondition{.kind = kind, .below = *value};
}

}  // namespace

bool WaitCondition::MetBy(const v1::Run& run) const {
  const v1::Progress& progress = run.progress();
  switch (kind) {
    case Kind::kFinished:
      return client::IsTerminal(run.state());
    case Kind::kState:
      return run.state() == state;
    case Kind::kStep:
      return progress.step() >= step;
    case Kind::kLoss:
      return progress.step() > 0 && progress.loss() < below;
    case Kind::kValidationLoss:
      return progress.validation_step() > 0 && progress.validation_loss() < below;
    case Kind::kCheckpoint:
      return run.latest_checkpoint_step() >= 0;
  }
  return false;
}

StatusOr<WaitCondition> ParseWaitCondition(const std::string& text) {
  if (text == "finished") return WaitCondition{};
  if (text == "checkpoint") return WaitCondition{.kind = Kind::kCheckpoint};
  if (const auto step = After(text, "step=")) return ParseStep(*step);
  if (const auto loss = After(text, "loss<")) return ParseLoss(*loss, "loss<", Kind::kLoss);
  if (const auto loss = After(text, "val_loss<"))
    return ParseLoss(*loss, "val_loss<", Kind::kValidationLoss);
  if (const auto condition = ParseState(After(text, "state=").value_or(text))) return *condition;
  return InvalidArgument(
      "--for {}: expected finished, checkpoint, state=NAME, step=N, loss<X or val_loss<X (see "
      "'gpctl help states')",
      text);
}

}  // namespace gp::gpctl
