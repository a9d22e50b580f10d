#include "plan/batch_ramp.h"

#include <algorithm>
#include <utility>

namespace gp::runspec {
namespace {

// The sum of floor(slope * i / divisor) over i in [0, count), by Euclid's algorithm on the lattice
// points below the line (Graham, Knuth, Patashnik, Concrete Mathematics, section 3.5).
// REQUIRES: slope >= 0, divisor > 0.
int64_t SumOfFloors(int64_t count, int64_t slope, int64_t divisor) {
  int64_t sum = 0, offset = 0;
  while (count > 0) {
    sum += (count - 1) * count / 2 * (slope / divisor) + count * (offset / divisor);
    slope %= divisor;
    offset %= divisor;
    const int64_t top = slope * count + offset;
    count = top / divisor;
    offset = top % divisor;
    std::swap(slope, divisor);
  }
  return sum;
}

int64_t TokensPerMicroBatch(const BatchPlan& plan) {
  return plan.tokens_per_step / plan.accumulation;
}

// What the steps before `start` saw beyond what they would have seen with this plan; may be
// negative.
int64_t TokensAhead(const BatchPlan& plan, const TrainingStart& start) {
  return start.tokens - MicroBatchesBefore(plan, start.step) * TokensPerMicroBatch(plan);
}

}  // namespace

int64_t AccumulationAt(const BatchPlan& plan, int64_t step) {
  if (step >= plan.ramp_steps) return plan.accumulation;
  const int64_t growth = plan.accumulation - plan.ramp_accumulation;
  return plan.ramp_accumulation + growth * step / plan.ramp_steps;
}

int64_t MicroBatchesBefore(const BatchPlan& plan, int64_t step) {
  const int64_t ramped = std::min(step, plan.ramp_steps);
  int64_t count = (step - ramped) * plan.accumulation;
  if (ramped == 0) return count;
  const int64_t growth = plan.accumulation - plan.ramp_accumulation;
  return count + ramped * plan.ramp_accumulation + SumOfFloors(ramped, growth, plan.ramp_steps);
}

int64_t TokensAt(const BatchPlan& plan, int64_t step) {
  return AccumulationAt(plan, step) * TokensPerMicroBatch(plan);
}

int64_t TokensBefore(const BatchPlan& plan, int64_t step, const TrainingStart& start) {
  return TokensAhead(plan, start) + MicroBatchesBefore(plan, step) * TokensPerMicroBatch(plan);
}

int64_t StepsWithin(const BatchPlan& plan, int64_t tokens, const TrainingStart& start) {
  tokens = std::max<int64_t>(tokens - TokensAhead(plan, start), 0);
  int64_t fits = 0;
  int64_t beyond =
      std::min(tokens / TokensAt(plan, 0), plan.ramp_steps + tokens / plan.tokens_per_step) + 1;
  while (beyond - fits > 1) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (TokensBefore(plan, middle) <= tokens ? fits : beyond) = middle;
  }
  return fits;
}

int64_t StepsUntil(const BatchPlan& plan, int64_t tokens, const TrainingStart& start) {
  tokens = std::max<int64_t>(tokens - TokensAhead(plan, start), 0);
  const int64_t within = StepsWithin(plan, tokens);
  return TokensBefore(plan, within) == tokens ? within : within + 1;
}

ScheduleSpec ScheduleInSteps(ScheduleSpec schedule, const BatchPlan& plan,
                             const TrainingStart& start) {
  if (schedule.warmup_tokens > 0) {
    schedule.warmup_steps = StepsUntil(plan, schedule.warmup_tokens, start);
  }
  if (schedule.decay_tokens > 0) {
    schedule.decay_steps = StepsUntil(plan, schedule.decay_tokens, start);
  }
  schedule.warmup_tokens = schedule.decay_tokens = 0;
  return schedule;
}

}  // namespace gp::runspec
