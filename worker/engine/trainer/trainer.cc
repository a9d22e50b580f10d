#include "worker/engine/trainer/trainer.h"

#include <cmath>
#include <limits>

#include "runspec/batch_ramp.h"
#include "worker/engine/optim/global_norm.h"
#include "worker/engine/optim/lr_schedule.h"
#include "worker/engine/trainer/training_error.h"

namespace gp::engine {
namespace {

// In memory that the ranks of this node reach, where there are any.
std::span<float> AllocateGradient(LanguageModel& model, Communicator& communicator) {
  const auto count = static_cast<size_t>(model.layout().total_count);
  const std::span<float> shared = communicator.Allocate(count);
  if (!shared.empty()) return shared;
  void* memory = model.backend().Allocate(static_cast<int64_t>(count * sizeof(float)));
  return {static_cast<float*>(memory), count};
}

std::span<int32_t> AllocateIds(LanguageModel& model, const runspec::BatchSpec& batch) {
  const auto count = static_cast<size_t>(batch.micro_batch * batch.sequence);
  const auto bytes = static_cast<int64_t>((count * sizeof(int32_t) + 63) / 64 * 64);
  return {static_cast<int32_t*>(model.backend().Allocate(bytes)), count};
}

}  // namespace

Trainer::Trainer(const runspec::RunSpec& spec, const runspec::BatchPlan& plan, LanguageModel& model,
                 FillBatch fill, Communicator& communicator, const Clock& clock)
    : spec_(spec),
      plan_(plan),
      model_(model),
      fill_(std::move(fill)),
      communicator_(communicator),
      clock_(clock),
      schedule_(runspec::ScheduleInSteps(spec.schedule, plan)),
      owned_(OwnedShards(plan.logical_shards, communicator.rank(), communicator.size())),
      shard_sum_(owned_, [&] { return AllocateGradient(model, communicator); }),
      optimizer_(MakeOptimizer(model.backend(), model.shape(), model.layout(),
                               {.spec = spec.optimizer,
                                .fused = spec.engine.fused_optimizer,
                                .stochastic_rounding = spec.engine.stochastic_rounding,
                                .seed = spec.seed})),
      tokens_(AllocateIds(model, spec.batch)),
      targets_(AllocateIds(model, spec.batch)),
      shard_losses_(static_cast<size_t>(plan.logical_shards)) {}

StepResult Trainer::Step(const std::stop_token& stop) {
  PhaseTimer timer(clock_);
  StepResult result;

  // Each shard alone and with equal shapes, so that its gradient does not depend on who computes
  // it.
  GradientReduction reduction(communicator_, model_.backend(), shard_sum_);
  for (int shard = owned_.first; shard < owned_.first + owned_.count; ++shard) {
    AccumulateShard(shard, reduction, timer, stop);
  }

  // The sum over all shards along the fixed tree. The losses come after it: a rank that has them
  // knows that every rank has finished its gradients.
  const std::span<float> gradients = reduction.Finish();
  result.loss = ReduceLosses();
  timer.Lap(&link::Phases::allreduce_exposed);

  result.gradient_norm = GlobalNorm(model_.backend(), gradients);
  result.learning_rate = LearningRate(schedule_, spec_.optimizer.lr, schedule_steps_, step_);
  result.skipped = !std::isfinite(result.gradient_norm) || !std::isfinite(result.loss);
  if (!result.skipped) {
    optimizer_->Update(model_, gradients, result.learning_rate,
                       ClipCoefficient(result.gradient_norm, spec_.optimizer.grad_clip));
  }
  timer.Lap(&link::Phases::optimizer);

  result.step = ++step_;
  GuardAgainstNonFinite(result);
  timer.Lap(&link::Phases::other);
  result.phases = timer.phases();
  result.seconds = timer.seconds();
  return result;
}

// The gradient of one shard: of its micro-batches, weighted by tokens over the whole step.
void Trainer::AccumulateShard(int shard, GradientReduction& reduction, PhaseTimer& timer,
                              const std::stop_token& stop) {
  const std::span<float> gradients = shard_sum_.Next();
  const float scale = 1.0f / static_cast<float>(runspec::TokensAt(plan_, step_));
  const int64_t accumulation = runspec::AccumulationAt(plan_, step_);
  double loss = 0;
  for (int64_t micro_batch = 0; micro_batch < accumulation; ++micro_batch) {
    if (stop.stop_requested()) {
      shard_sum_.TakePartials();
      throw TrainingStopped{};
    }
    fill_(step_, shard, micro_batch, tokens_, targets_);
    timer.Lap(&link::Phases::data_wait);
    const TokenBatch batch{tokens_, targets_, spec_.batch.micro_batch, spec_.batch.sequence};
    const Dropout dropout{.probability = spec_.model.dropout,
                          .seed = spec_.seed,
                          .step = static_cast<uint64_t>(step_),
                          .shard = static_cast<uint32_t>(shard),
                          .micro_batch = static_cast<uint32_t>(micro_batch)};
    model_.ExpectBackward(scale, gradients, /*accumulate=*/micro_batch > 0);
    loss += model_.Forward(batch, dropout);
    timer.Lap(&link::Phases::forward);
    const bool is_last =
        shard + 1 == owned_.first + owned_.count && micro_batch + 1 == accumulation;
    model_.Backward(scale, gradients, /*accumulate=*/micro_batch > 0,
                    is_last ? reduction.BeginLastPass() : GradientReady{});
    timer.Lap(&link::Phases::backward);
  }
  shard_losses_[static_cast<size_t>(shard)] = loss;
  reduction.FinishShard();
  timer.Lap(&link::Phases::other);
}

// The mean loss of the step, equal on every rank: each shard's sum travels as a maximum with zeros.
double Trainer::ReduceLosses() {
  std::vector<double> losses(shard_losses_.size(), 0.0);
  for (int shard = owned_.first; shard < owned_.first + owned_.count; ++shard) {
    const double loss = shard_losses_[static_cast<size_t>(shard)];
    // A maximum may lose a not-a-number, but no infinity.
    losses[static_cast<size_t>(shard)] =
        std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
  }
  communicator_.AllReduceMax(losses);
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(runspec::TokensAt(plan_, step_));
}

void Trainer::GuardAgainstNonFinite(const StepResult& result) {
  consecutive_skips_ = result.skipped ? consecutive_skips_ + 1 : 0;
  const int64_t allowed =
      spec_.stability.skip_nonfinite ? spec_.stability.consecutive_skips_max : 0;
  if (consecutive_skips_ <= allowed) return;
  throw TrainingError(
      link::ExitCause::kError,
      fmt::format(
          "step {}: the loss or its gradient is not finite (loss {}, gradient norm {}) for {} "
          "step(s) in a row, {} are allowed; lower optimizer.lr, or set stability.skip_nonfinite "
          "and stability.consecutive_skips_max",
          result.step, result.loss, result.gradient_norm, consecutive_skips_, allowed));
}

}  // namespace gp::engine
