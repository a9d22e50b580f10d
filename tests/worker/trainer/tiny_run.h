// A run so small that a step takes a millisecond, with everything that can affect bits: four
// logical shards, two micro-batches each, dropout, biases, odd sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "plan/run_spec.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/step/training_step.h"

namespace gp::engine {

inline runspec::RunSpec TinySpec() {
  runspec::RunSpec spec;
  spec.model = {.layers = 2,
                .heads = 3,
                .channels = 21,
                .context = 7,
                .vocabulary = 13,
                .vocabulary_padded = 16,
                .dropout = 0.1};
  spec.batch = {.micro_batch = 3, .sequence = 7};
  spec.optimizer.lr = 1e-2;
  spec.schedule.warmup_steps = 3;
  spec.seed = 7;
  return spec;
}

inline runspec::BatchPlan TinyPlan(const runspec::RunSpec& spec = TinySpec()) {
  runspec::BatchPlan plan{.logical_shards = 4, .accumulation = 2, .tokens_per_step = 4 * 2 * 3 * 7};
  if (spec.batch.ramp_steps > 0) {
    plan.ramp_accumulation = 1;
    plan.ramp_steps = spec.batch.ramp_steps;
  }
  return plan;
}

// Fills in tokens that are a function of their position.
inline void FillTiny(int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
                     std::span<int32_t> targets) {
  auto state = static_cast<uint64_t>((step * 4 + shard) * 2 + micro_batch + 1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tokens[i] = static_cast<int32_t>((state >> 33) % 13);
    targets[i] = (tokens[i] * 5 + 3) % 13;
  }
}

// One rank: a model, its optimizer, and its training step.
class TinyRank {
 public:
  explicit TinyRank(Communicator& communicator, const runspec::RunSpec& spec = TinySpec())
      : TinyRank(communicator, spec, TinyPlan(spec)) {}

  TinyRank(Communicator& communicator, const runspec::RunSpec& spec, const runspec::BatchPlan& plan,
           const TrainingStep::FillBatch& fill = FillTiny, InitialState state = InitialState::kOwn)
      : spec_(spec),
        plan_(plan),
        model_(MakeLanguageModel(
            {.shape = spec_.model,
             .precision = spec_.precision == runspec::Precision::kBf16 ? spec_.precision
                                                                       : runspec::Precision::kFp32,
             .micro_batch = spec_.batch.micro_batch,
             .sequence = spec_.batch.sequence,
             .device = {.on = spec_.resources.device == "gpu", .graph = spec_.engine.graph},
             .trained = runspec::TrainedPartsOf(spec_)})),
        training_step_(spec_, plan_, *model_, fill, communicator, SystemClock(), {}, state) {
    InitializeNormal(spec_.seed, *model_);
    training_step_.set_schedule_steps(100);
  }

  std::vector<StepResult> RunSteps(int64_t steps) {
    std::vector<StepResult> results;
    for (int64_t i = 0; i < steps; ++i) results.push_back(training_step_.Run({}));
    return results;
  }
  std::vector<float> Parameters() {
    const std::span<const float> parameters = model_->parameters();
    std::vector<float> copy(parameters.size());
    model_->backend().Download(copy.data(), parameters.data(),
                               static_cast<int64_t>(parameters.size_bytes()));
    return copy;
  }
  LanguageModel& model() { return *model_; }
  TrainingStep& training_step() { return training_step_; }

 private:
  const runspec::RunSpec spec_;
  const runspec::BatchPlan plan_;
  std::unique_ptr<LanguageModel> model_;
  TrainingStep training_step_;
};

// The parameters of every rank of a group after `steps` steps.
inline std::vector<std::vector<float>> TrainTinyGroup(int world_size, int64_t steps,
                                                      const runspec::RunSpec& spec = TinySpec()) {
  auto group = MakeLocalGroup(world_size, TinyPlan().logical_shards);
  std::vector<std::vector<float>> parameters(group.size());
  OnEachRank(group, [&](size_t rank) {
    TinyRank member(*group[rank], spec);
    member.RunSteps(steps);
    parameters[rank] = member.Parameters();
  });
  return parameters;
}

}  // namespace gp::engine
