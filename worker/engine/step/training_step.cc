#include "worker/engine/step/training_step.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/failpoint.h"
#include "contract/divergence_warning.h"
#include "plan/batch_ramp.h"
#include "plan/lr_schedule.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

std::span<float> AllocateGradient(LanguageModel& model) {
  const auto count = static_cast<size_t>(model.layout().total_count);
  void* memory = model.backend().Allocate(static_cast<int64_t>(count * sizeof(float)));
  return {static_cast<float*>(memory), count};
}

// The number of shard losses that need a place. In another group this rank may own other shards.
int LossPlaces(const runspec::RunSpec& spec, const runspec::BatchPlan& plan,
               Communicator& communicator) {
  if (communicator.device() != nullptr) return plan.logical_shards + 1;
  if (spec.RegroupsInPlace()) return plan.logical_shards;
  return OwnedShards(plan.logical_shards, communicator.rank(), communicator.size()).count;
}

bool CutsOptimizer(const runspec::RunSpec& spec, Communicator& communicator) {
  return spec.engine.zero1 && communicator.size() > 1 && communicator.device() != nullptr;
}

std::optional<OptimizerSlice> SliceOf(const runspec::RunSpec& spec, const LanguageModel& model,
                                      Communicator& communicator) {
  if (!CutsOptimizer(spec, communicator)) return std::nullopt;
  return OptimizerShards::SliceOf(model.layout().total_count, communicator.rank(),
                                  communicator.size());
}

// On GPUs every rank updates everything: the host cannot send device memory.
OptimizerGroup GroupOf(Communicator& communicator) {
  if (communicator.size() == 1 || communicator.device() != nullptr) return {};
  return {.rank = communicator.rank(),
          .ranks = communicator.size(),
          .broadcast = [&communicator](std::span<float> values, int root) {
            communicator.Broadcast(std::as_writable_bytes(values), root);
          }};
}

// AllReduceMax may drop NaN but keeps infinity, so NaN is sent as infinity.
double FiniteOrInfinite(double loss) {
  return std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
}

std::string WordsOfEnd(const runspec::StabilitySpec& stability, const std::string& why,
                       int64_t diverged_in_a_row) {
  std::string words = std::string(contract::kDivergedPrefix) + why;
  if (stability.on_divergence != runspec::OnDivergence::kSkip) return words;
  return fmt::format(
      "{}; of {} such step(s) in a row {} may be skipped (stability.skip_nonfinite, "
      "stability.consecutive_skips_max); lower optimizer.lr",
      words, diverged_in_a_row, stability.skip_nonfinite ? stability.consecutive_skips_max : 0);
}

std::span<int32_t> AllocateIds(LanguageModel& model, const runspec::BatchSpec& batch) {
  const auto count = static_cast<size_t>(batch.micro_batch * batch.sequence);
  const auto bytes = static_cast<int64_t>((count * sizeof(int32_t) + 63) / 64 * 64);
  return {static_cast<int32_t*>(model.backend().AllocateHost(bytes)), count};
}

}  // namespace

TrainingStep::TrainingStep(const runspec::RunSpec& spec, const runspec::BatchPlan& plan,
                           LanguageModel& model, FillBatch fill, Communicator& communicator,
                           const Clock& clock, const runspec::TrainingStart& start)
    : spec_(spec),
      plan_(plan),
      model_(model),
      fill_(std::move(fill)),
      communicator_(&communicator),
      schedule_(runspec::ScheduleInSteps(spec.schedule, plan, start)),
      trained_(TrainedRange(model.layout())),
      optimizer_(MakeOptimizer(model.backend(), model.shape(), model.layout(),
                               {.spec = spec.optimizer,
                                .fused = spec.engine.fused_optimizer,
                                .stochastic_rounding = spec.engine.stochastic_rounding,
                                .seed = spec.seed,
                                .slice = SliceOf(spec, model, communicator),
                                .group = GroupOf(communicator)})),
      tokens_(AllocateIds(model, spec.batch)),
      targets_(AllocateIds(model, spec.batch)),
      scalars_(model.backend(), LossPlaces(spec, plan, communicator)),
      clock_(clock),
      timer_(clock, model.backend()),
      guard_(spec.stability) {
  DivideShards();
  if (CutsOptimizer(spec, communicator)) shards_.emplace(communicator, model, *optimizer_);
  if (spec.precision != runspec::Precision::kFp16) return;
  loss_scale_.emplace();
  model_.set_loss_scale(scalars_.loss_scale());
}

// Divides the logical shards among the ranks of the group, with a buffer for each gradient that
// this rank keeps at a time.
void TrainingStep::DivideShards() {
  owned_ = OwnedShards(plan_.logical_shards, communicator_->rank(), communicator_->size());
  own_buffers_used_ = 0;
  shard_sum_.emplace(owned_, [this] { return NextGradientBuffer(); });
}

// Uses shared memory if other ranks of this node can map it, otherwise private memory; device
// memory on a GPU.
std::span<float> TrainingStep::NextGradientBuffer() {
  if (model_.backend().host_reachable()) {
    const std::span<float> shared =
        communicator_->Allocate(static_cast<size_t>(model_.layout().total_count));
    if (!shared.empty()) return shared;
  }
  if (own_buffers_used_ == own_buffers_.size()) own_buffers_.push_back(AllocateGradient(model_));
  return own_buffers_[own_buffers_used_++];
}

std::optional<StepResult> TrainingStep::EnterGroup(Communicator& communicator) {
  GP_CHECK(intact() && communicator.device() == nullptr);
  communicator_ = &communicator;
  std::optional<StepResult> completed = CatchUp();
  summed_ = {};  // its memory belongs to the group before
  DivideShards();
  return completed;
}

// A rank commits a step when it has the losses of all ranks. Each rank sends its losses after it
// has the summed gradient, so if one has committed, all others are prepared and need only the
// losses.
std::optional<StepResult> TrainingStep::CatchUp() {
  const auto step = static_cast<double>(step_);
  double extremes[2] = {step, -step};
  communicator_->AllReduceMax(extremes);
  const double ahead = extremes[0] + extremes[1];
  if (ahead == 0) return std::nullopt;
  const bool behind = step < extremes[0];
  if (ahead > 1 || (behind && !prepared())) {
    throw TrainingError(contract::ExitCause::kCollective,
                        fmt::format("the ranks cannot go on together: this one has committed step "
                                    "{}, others steps {} to {}",
                                    step_, -extremes[1], extremes[0]));
  }
  std::vector<double> losses(static_cast<size_t>(plan_.logical_shards) + 1, 0.0);
  if (!behind) losses = shared_losses_;
  communicator_->AllReduceMax(losses);
  if (!behind) return std::nullopt;
  shared_losses_ = std::move(losses);
  return Commit(shared_losses_);
}

StepResult TrainingStep::Run(const std::stop_token& stop) {
  timer_.Begin();
  progress::InPhase phase(progress::Phase::kForward);
  summed_ = {};
  scalars_.Begin(loss_scale_ ? loss_scale_->value() : 1);
  UploadRequest();

  // Each shard is computed alone and with equal shapes, so its gradient does not depend on the rank
  // that computes it.
  GradientReduction reduction(*communicator_, model_.backend(), *shard_sum_, trained_, clock_);
  for (int shard = owned_.first; shard < owned_.first + owned_.count; ++shard) {
    AccumulateShard(shard, reduction, phase, stop);
  }
  phase.Next(progress::Phase::kAllReduce);
  Failpoint("step.all_reduce");

  // Sums the gradients of all shards along the fixed tree. GPUs sum the losses in the same queue;
  // the losses of other ranks' shards are zero here.
  DeviceCollectives* const device = communicator_->device();
  if (device != nullptr) device->BeginSum(scalars_.losses());
  const std::span<float> gradients = reduction.Finish();
  timer_.Lap(&contract::StepPhases::allreduce_exposed);

  // Exchange losses after the norm: receiving them proves that every rank has finished its
  // gradients.
  scalars_.MeasureGradient(gradients.subspan(static_cast<size_t>(trained_.first),
                                             static_cast<size_t>(trained_.last - trained_.first)));
  summed_ = gradients;
  timer_.Lap(&contract::StepPhases::optimizer);
  Failpoint("step.losses");
  const std::span<const double> losses = ShareLosses();
  timer_.Lap(&contract::StepPhases::allreduce_exposed);
  StepResult result = Commit(losses);
  result.all_reduce = CostOf(reduction);
  return result;
}

// Updates the state with the summed gradient. `losses` as ShareLosses returns them.
StepResult TrainingStep::Commit(std::span<const double> losses) {
  const progress::InPhase phase(progress::Phase::kOptimizer);
  StepResult result;
  Failpoint("step.optimizer");
  const auto tokens = static_cast<double>(runspec::TokensAt(plan_, step_));
  const double loss_sum_max = guard_.LossLimit() * tokens;
  scalars_.ComputeGradientFactor(losses.first(static_cast<size_t>(plan_.logical_shards)),
                                 spec_.optimizer.grad_clip, loss_sum_max);
  scalars_.BeginDownload();
  timer_.Lap(&contract::StepPhases::optimizer);
  timer_.Close();

  // The device computes the gradient factor, so the update is queued before the host has read loss
  // and norm. device->Await has a timeout for lost peers; the wait for the queue after it has none.
  DeviceCollectives* const device = communicator_->device();
  result.learning_rate =
      runspec::LearningRate(schedule_, spec_.optimizer.lr, schedule_steps_, step_);
  if (device != nullptr && optimizer_->TakesFactorByValue()) device->Await();
  updating_ = true;
  optimizer_->Update(model_, summed_, result.learning_rate, scalars_.gradient_factor());
  timer_.Lap(&contract::StepPhases::optimizer);
  if (device != nullptr) device->Await();
  scalars_.Await();
  timer_.ReadMarks();

  const double loss_sum = LossSum();
  result.loss = loss_sum / tokens;
  result.gradient_norm = scalars_.gradient_norm() / (loss_scale_ ? loss_scale_->value() : 1);
  Judge(loss_sum, loss_sum_max, result);
  if (result.skipped) {
    optimizer_->UndoSkippedUpdate();
  } else if (shards_) {
    shards_->GatherParameters();
  }
  timer_.Lap(&contract::StepPhases::optimizer);

  const StepRequest request = SharedRequest();
  result.last = request == StepRequest::kStop;
  result.save = request == StepRequest::kSave;
  result.step = ++step_;
  updating_ = false;
  summed_ = {};
  EndOrSkip(result);
  timer_.Lap(&contract::StepPhases::other);
  result.phases = timer_.phases();
  result.seconds = timer_.seconds();
  return result;
}

std::optional<AllReduceCost> TrainingStep::CostOf(const GradientReduction& reduction) const {
  if (communicator_->size() == 1 || communicator_->device() != nullptr) return std::nullopt;
  return AllReduceCost{
      .seconds = timer_.phases().allreduce_exposed + reduction.hidden_seconds(),
      .bytes = (trained_.last - trained_.first) * static_cast<int64_t>(sizeof(float))};
}

// Computes the gradient of one shard: the sum over its micro-batches, weighted by the tokens of the
// whole step.
void TrainingStep::AccumulateShard(int shard, GradientReduction& reduction,
                                   progress::InPhase& phase, const std::stop_token& stop) {
  const std::span<float> gradients = shard_sum_->Next();
  const float scale = 1.0f / static_cast<float>(runspec::TokensAt(plan_, step_));
  const int64_t accumulation = runspec::AccumulationAt(plan_, step_);
  for (int64_t micro_batch = 0; micro_batch < accumulation; ++micro_batch) {
    if (stop.stop_requested()) {
      shard_sum_->TakePartials();
      throw TrainingStopped{};
    }
    phase.Next(progress::Phase::kForward);
    Failpoint("step.forward");
    fill_(step_, shard, micro_batch, tokens_, targets_);
    timer_.Lap(&contract::StepPhases::data_wait);
    const TokenBatch batch{tokens_, targets_, spec_.batch.micro_batch, spec_.batch.sequence};
    const Dropout dropout{.probability = spec_.model.dropout,
                          .seed = spec_.seed,
                          .step = static_cast<uint64_t>(step_),
                          .shard = static_cast<uint32_t>(shard),
                          .micro_batch = static_cast<uint32_t>(micro_batch)};
    model_.ExpectBackward(scale, gradients, /*accumulate=*/micro_batch > 0);
    model_.ForwardInto(batch, dropout, scalars_.loss(LossOf(shard)));
    timer_.Lap(&contract::StepPhases::forward);
    phase.Next(progress::Phase::kBackward);
    Failpoint("step.backward");
    const bool is_last =
        shard + 1 == owned_.first + owned_.count && micro_batch + 1 == accumulation;
    model_.Backward(scale, gradients, /*accumulate=*/micro_batch > 0,
                    is_last ? reduction.BeginLastPass() : GradientReady{});
    timer_.Lap(&contract::StepPhases::backward);
  }
  reduction.FinishShard();
  timer_.Lap(&contract::StepPhases::other);
}

// Returns the index of a shard's loss: among all shards if the device sums the losses, otherwise
// among the rank's own shards.
int TrainingStep::LossOf(int shard) const {
  return communicator_->device() != nullptr ? shard : shard - owned_.first;
}

// False for a single rank and on GPUs.
bool TrainingStep::SharesLossesOnHost() const {
  return communicator_->size() > 1 && communicator_->device() == nullptr;
}

// Returns each shard's loss sum, equal on every rank. Ranks that share them on the host exchange
// them as a maximum with zeros. The same AllReduceMax carries each rank's request, so all ranks
// agree on what follows the step.
std::span<const double> TrainingStep::ShareLosses() {
  if (!SharesLossesOnHost()) return scalars_.losses();
  GP_CHECK(model_.backend().host_reachable(), "ranks on GPUs need device collectives");
  shared_losses_.assign(static_cast<size_t>(plan_.logical_shards) + 1, 0.0);
  shared_losses_.back() = static_cast<double>(request_());
  for (int shard = owned_.first; shard < owned_.first + owned_.count; ++shard) {
    shared_losses_[static_cast<size_t>(shard)] = FiniteOrInfinite(*scalars_.loss(LossOf(shard)));
  }
  communicator_->AllReduceMax(shared_losses_);
  return shared_losses_;
}

// GPUs sum the requests, which are stored after the losses. Only one rank may request a save, so
// that a sum of saves is not read as a stop.
void TrainingStep::UploadRequest() {
  if (communicator_->device() == nullptr) return;
  const auto request = static_cast<double>(request_());
  if (request == 0) return;
  model_.backend().Upload(scalars_.loss(plan_.logical_shards), &request, sizeof(request));
}

StepRequest TrainingStep::SharedRequest() const {
  if (communicator_->size() == 1) return request_();
  const double shared = communicator_->device() == nullptr
                            ? shared_losses_.back()
                            : scalars_.shard_loss(plan_.logical_shards);
  if (shared < static_cast<double>(StepRequest::kSave)) return StepRequest::kNone;
  return shared < static_cast<double>(StepRequest::kStop) ? StepRequest::kSave : StepRequest::kStop;
}

// Returns the sum of this step's losses in nats, added in the order of the shards; equal on every
// rank.
double TrainingStep::LossSum() const {
  const bool on_host = SharesLossesOnHost();
  double sum = 0;
  for (int shard = 0; shard < plan_.logical_shards; ++shard) {
    sum += on_host ? shared_losses_[static_cast<size_t>(shard)]
                   : FiniteOrInfinite(scalars_.shard_loss(shard));
  }
  return sum;
}

// Gives the same result on every rank, because loss and norm are equal on every rank. The gradient
// factor was computed with the same limit, so a step that is not sound has updated nothing.
void TrainingStep::Judge(double loss_sum, double loss_sum_max, StepResult& result) {
  const bool finite_gradient = std::isfinite(result.gradient_norm);
  const bool finite = finite_gradient && std::isfinite(loss_sum);
  if (!finite) {
    result.verdict = StepVerdict::kNotFinite;
  } else if (loss_sum > loss_sum_max) {
    result.verdict = StepVerdict::kSpike;
  }
  result.skipped = result.verdict != StepVerdict::kSound;
  if (loss_scale_) {
    result.overflowed = loss_scale_->Observe(finite_gradient) && std::isfinite(loss_sum);
  }
  if (result.overflowed) result.verdict = StepVerdict::kSound;
}

void TrainingStep::EndOrSkip(StepResult& result) {
  if (result.overflowed) return;
  const int64_t skips = guard_.state().skips_in_a_row;
  if (result.verdict != StepVerdict::kSound) {
    const std::string why =
        guard_.Describe(result.step, result.verdict, result.loss, result.gradient_norm);
    // The same step would end like this again.
    if (guard_.Ends(result.verdict)) {
      throw TrainingError(contract::ExitCause::kDiverged,
                          WordsOfEnd(spec_.stability, why, skips + 1));
    }
    if (skips == 0) result.diverged_because = why;
  }
  guard_.Observe(result.step, result.verdict, result.loss);
}

}  // namespace gp::engine
