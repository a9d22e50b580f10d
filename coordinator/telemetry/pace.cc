#include "coordinator/telemetry/pace.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {
namespace {

// The time from the end of the step before to the end of this one. Never less than the step took:
// a clock may have been set back.
double WallSeconds(const Point* previous, const Point& point) {
  if (previous == nullptr || previous->epoch != point.epoch) return point.step_seconds;
  const double passed = std::chrono::duration<double>(point.at - previous->at).count();
  return std::max(passed, point.step_seconds);
}

}  // namespace

void Pace::Fade(double seconds) {
  const double factor = std::exp(-seconds / kMemorySeconds);
  for (double* sum : {&sums_.steps, &sums_.wall_seconds, &sums_.step_seconds, &sums_.tokens,
                      &sums_.flops_share}) {
    *sum *= factor;
  }
  for (double& sum : sums_.phase_seconds) sum *= factor;
}

void Pace::Add(const Point* previous, const Point& point) {
  const double wall_seconds = WallSeconds(previous, point);
  Fade(wall_seconds);
  sums_.steps += 1;
  sums_.wall_seconds += wall_seconds;
  sums_.step_seconds += point.step_seconds;
  sums_.tokens += point.tokens_per_second * point.step_seconds;
  sums_.flops_share += point.mfu * point.step_seconds;
  const std::array<double, 6> phases = {point.data_wait_seconds, point.forward_seconds,
                                        point.backward_seconds,  point.allreduce_exposed_seconds,
                                        point.optimizer_seconds, point.other_seconds};
  for (size_t i = 0; i < phases.size(); ++i) sums_.phase_seconds[i] += phases[i];
}

double Pace::TokensPerSecond() const {
  return sums_.step_seconds > 0 ? sums_.tokens / sums_.step_seconds : 0;
}

double Pace::Mfu() const {
  return sums_.step_seconds > 0 ? sums_.flops_share / sums_.step_seconds : 0;
}

std::array<double, 6> Pace::PhaseSeconds() const {
  std::array<double, 6> means = sums_.phase_seconds;
  for (double& mean : means) mean /= sums_.steps;
  return means;
}

}  // namespace gp::coordinator
