#include "coordinator/telemetry/pace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <type_traits>

#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {
namespace {

// The time from the end of the step before to the end of this one. Never less than the step took:
// a clock may have been set back.
double WallSeconds(const contract::TrainingPoint* previous, const contract::TrainingPoint& point) {
  if (previous == nullptr || previous->epoch != point.epoch) return point.step_seconds;
  const double passed =
      std::chrono::duration<double>(CommittedAt(point) - CommittedAt(*previous)).count();
  return std::max(passed, point.step_seconds);
}

template <contract::Listed T>
void Scale(T& values, double factor) {
  contract::VisitFields(values, [factor](const contract::FieldInfo&, auto& value) {
    if constexpr (contract::Listed<std::remove_cvref_t<decltype(value)>>) {
      Scale(value, factor);
    } else {
      value *= factor;
    }
  });
}

}  // namespace

void Pace::Fade(double seconds) {
  const double factor = std::exp(-seconds / kMemorySeconds);
  Scale(sums_, factor);
}

void Pace::Add(const contract::TrainingPoint* previous, const contract::TrainingPoint& point) {
  const double wall_seconds = WallSeconds(previous, point);
  Fade(wall_seconds);
  sums_.steps += 1;
  sums_.wall_seconds += wall_seconds;
  sums_.step_seconds += point.step_seconds;
  sums_.tokens += point.tokens_per_second * point.step_seconds;
  sums_.flops_share += point.mfu * point.step_seconds;
  if (point.processor_wait) {
    sums_.waited_share += *point.processor_wait * point.step_seconds;
    sums_.share_seconds += point.step_seconds;
  }
  contract::StepPhases::ForEachField(
      [&](const contract::FieldInfo&, auto phase) { sums_.phases.*phase += point.phases.*phase; });
}

double Pace::TokensPerSecond() const {
  return sums_.step_seconds > 0 ? sums_.tokens / sums_.step_seconds : 0;
}

double Pace::Mfu() const {
  return sums_.step_seconds > 0 ? sums_.flops_share / sums_.step_seconds : 0;
}

contract::StepPhases Pace::Phases() const {
  contract::StepPhases means = sums_.phases;
  Scale(means, 1 / sums_.steps);
  return means;
}

std::optional<double> Pace::ProcessorWait() const {
  if (sums_.share_seconds <= 0) return std::nullopt;
  return sums_.waited_share / sums_.share_seconds;
}

}  // namespace gp::coordinator
