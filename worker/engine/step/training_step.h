// TrainingStep: runs training steps in the order of the algorithm, and advances the state:
// parameters, optimizer moments, step number. One per rank. The ranks of a group call Run together
// and hold the same state, bit for bit, after each call (with optimizer shards each rank has only a
// part of the moments). One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/machine/progress.h"
#include "contract/training_point.h"
#include "plan/run_spec.h"
#include "plan/training_start.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/optim/optimizer.h"
#include "worker/engine/step/divergence_guard.h"
#include "worker/engine/step/gradient_reduction.h"
#include "worker/engine/step/loss_scale.h"
#include "worker/engine/step/optimizer_shards.h"
#include "worker/engine/step/shard_sum.h"
#include "worker/engine/step/step_scalars.h"
#include "worker/engine/step/step_timer.h"

namespace gp::engine {

// A step's all-reduce of the gradients and the losses.
struct AllReduceCost {
  double seconds = 0;  // including the part overlapped with backward
  int64_t bytes = 0;   // of the gradients that were summed
};

// What a rank asks the whole group to do after this step. Larger values win.
enum class StepRequest { kNone = 0, kSave = 1, kStop = 2 };

struct StepResult {
  int64_t step = 0;          // steps committed, this one included
  double loss = 0;           // mean over the step's target tokens, in nats, before the update
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  bool skipped = false;  // not sound, or overflowed: parameters are unchanged
  // Skipped because fp16's loss scale was too large; it has been reduced.
  bool overflowed = false;
  StepVerdict verdict = StepVerdict::kSound;
  // Why the step diverged, in a sentence, if it did and the one before it did not.
  std::string diverged_because;
  // Requests of any rank, equal on every rank. `last`: this step is the last one. `save`: the state
  // must be saved.
  bool last = false;
  bool save = false;
  double seconds = 0;
  contract::StepPhases phases;
  // Absent for a single rank, which sums nothing, and on GPUs, whose collectives the host cannot
  // time.
  std::optional<AllReduceCost> all_reduce;
};

class TrainingStep {
 public:
  // Writes the tokens and targets, (micro_batch, sequence) each, of one micro-batch of one shard. A
  // pure function of its first three arguments.
  using FillBatch = std::function<void(int64_t step, int shard, int64_t micro_batch,
                                       std::span<int32_t> tokens, std::span<int32_t> targets)>;

  // All references must outlive this object. `spec` and `plan` are the run's. `start`: where the
  // run's counters began; ResumeAfter sets the step.
  TrainingStep(const runspec::RunSpec& spec, const runspec::BatchPlan& plan, LanguageModel& model,
               FillBatch fill, Communicator& communicator, const Clock& clock,
               const runspec::TrainingStart& start = {});

  // Runs one step. Throws TrainingStopped if `stop` was requested, between micro-batches; the state
  // is then that of the last committed step. Throws CollectiveError if a peer is lost; see also
  // intact(). Throws TrainingError(kDiverged), without a change of the parameters, when the step
  // has diverged and may not be skipped (DivergenceGuard::Ends); overflows of fp16's loss scale do
  // not count.
  StepResult Run(const std::stop_token& stop);

  // Continues in another group, after this one lost a rank. All ranks of `communicator` call it; it
  // must outlive this object, and the group before must exist until this returns. Afterwards all
  // ranks are at the same step: a rank that is one step behind, because the group broke before it
  // could commit, applies the update that it had prepared, and gets that step's result. Divides the
  // shards anew. Throws TrainingError(kCollective) when the ranks are further apart. REQUIRES:
  // intact(), RunSpec::RegroupsInPlace.
  std::optional<StepResult> EnterGroup(Communicator& communicator);

  // Whether this rank has the sum of the gradients of the step after step(). It needs only the
  // losses to commit it.
  bool prepared() const { return !summed_.empty(); }

  int64_t step() const { return step_; }
  Optimizer& optimizer() { return *optimizer_; }
  // If each rank keeps a part of the optimizer's state (engine.zero1); else nullptr.
  OptimizerShards* shards() { return shards_ ? &*shards_ : nullptr; }
  // Absent unless the run computes in fp16.
  std::optional<LossScale>& loss_scale() { return loss_scale_; }
  DivergenceGuard& divergence_guard() { return guard_; }

  // False if a step failed during its update: the parameters are then undefined.
  bool intact() const { return !updating_; }

  // Called once in every step. Only rank 0 may return kSave.
  void set_request(std::function<StepRequest()> request) { request_ = std::move(request); }

  // Continues after `step` committed steps; parameters and optimizer are restored already.
  void ResumeAfter(int64_t step) { step_ = step; }

  // The run length used by the schedule.
  void set_schedule_steps(int64_t steps) { schedule_steps_ = steps; }

 private:
  void DivideShards();
  std::span<float> NextGradientBuffer();
  std::optional<StepResult> CatchUp();
  StepResult Commit(std::span<const double> losses);
  void AccumulateShard(int shard, GradientReduction& reduction, progress::InPhase& phase,
                       const std::stop_token& stop);
  int LossOf(int shard) const;
  bool SharesLossesOnHost() const;
  void UploadRequest();
  std::span<const double> ShareLosses();
  StepRequest SharedRequest() const;
  double LossSum() const;
  std::optional<AllReduceCost> CostOf(const GradientReduction& reduction) const;
  void Judge(double loss_sum, double loss_sum_max, StepResult& result);
  void EndOrSkip(StepResult& result);

  const runspec::RunSpec& spec_;
  const runspec::BatchPlan& plan_;
  LanguageModel& model_;
  const FillBatch fill_;
  Communicator* communicator_;
  const runspec::ScheduleSpec schedule_;  // in steps
  // This and shard_sum_ are of the current group.
  ShardRange owned_;
  std::optional<ShardSum> shard_sum_;
  // Gradient buffers in backend memory, which is never freed: later groups use them again.
  std::vector<std::span<float>> own_buffers_;
  size_t own_buffers_used_ = 0;
  const GradientRange trained_;  // gradients outside it are never computed; frozen ones in it are 0
  const std::unique_ptr<Optimizer> optimizer_;
  std::optional<OptimizerShards> shards_;
  const std::span<int32_t> tokens_;   // (micro_batch, sequence), of the host
  const std::span<int32_t> targets_;  // (micro_batch, sequence), of the host
  StepScalars scalars_;
  // The sum of the step's gradients over all shards, until the step is committed.
  std::span<float> summed_;
  // The losses of all shards, where ranks share them on the host; the last element is the ranks'
  // StepRequest. Kept until the next step shares its own, for a rank that could not commit.
  std::vector<double> shared_losses_;
  std::function<StepRequest()> request_ = [] { return StepRequest::kNone; };
  bool updating_ = false;  // an update is in progress
  const Clock& clock_;
  StepTimer timer_;
  std::optional<LossScale> loss_scale_;
  DivergenceGuard guard_;
  int64_t step_ = 0;
  int64_t schedule_steps_ = 0;
};

}  // namespace gp::engine
