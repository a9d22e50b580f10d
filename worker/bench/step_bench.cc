#include "worker/bench/step_bench.h"

#include <algorithm>
#include <random>
#include <utility>

#include "worker/engine/model/gradient_stages.h"

namespace gp::engine {
namespace {

constexpr double kLearningRate = 1e-4;
constexpr double kClip = 1.0;
constexpr int kMarksOfStep = 3;
constexpr int kStepsAtOnce = 64;  // limits the number of time marks

std::vector<int32_t> RandomIds(const ModelOptions& options, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(options.micro_batch * options.sequence));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random() % static_cast<uint64_t>(options.shape.vocabulary));
  }
  return ids;
}

std::span<float> AllocateGradients(LanguageModel& model) {
  const int64_t count = model.layout().total_count;
  return {static_cast<float*>(model.backend().Allocate(count * 4)), static_cast<size_t>(count)};
}

}  // namespace

StepBench::StepBench(const ModelOptions& options, bool fused_optimizer)
    : StepBench(options, MakeLanguageModel(options), fused_optimizer) {}

StepBench::StepBench(const ModelOptions& options, std::unique_ptr<LanguageModel> model,
                     bool fused_optimizer)
    : options_(options),
      model_(std::move(model)),
      optimizer_(model_->backend(), model_->layout(), {.fused = fused_optimizer}),
      gradients_(AllocateGradients(*model_)),
      scalars_(static_cast<Scalars*>(model_->backend().Allocate(sizeof(Scalars)))),
      read_(static_cast<Scalars*>(model_->backend().AllocateHost(sizeof(Scalars)))),
      tokens_(RandomIds(options, 1)),
      targets_(RandomIds(options, 2)) {
  InitializeNormal(1337, *model_, options.threads);
}

void StepBench::QueueStep(int mark) {
  Backend& backend = model_->backend();
  const TokenBatch batch{tokens_, targets_, options_.micro_batch, options_.sequence};
  const float scale = 1.0f / static_cast<float>(tokens());
  backend.Mark(mark);
  backend.Zero(scalars_, sizeof(Scalars));
  model_->ExpectBackward(scale, gradients_, /*accumulate=*/false);
  model_->ForwardInto(batch, Dropout{}, &scalars_->loss);
  backend.Mark(mark + 1);
  model_->Backward(scale, gradients_, /*accumulate=*/false, {});
  backend.Mark(mark + 2);
  const GradientRange trained = TrainedRange(model_->layout());
  backend.SumOfSquares(&scalars_->sum_of_squares, gradients_.data() + trained.first,
                       trained.last - trained.first);
  backend.ComputeGradientFactor({.factor = &scalars_->factor,
                                 .sum_of_squares = &scalars_->sum_of_squares,
                                 .losses = &scalars_->loss,
                                 .loss_count = 1,
                                 .norm_max = kClip});
  backend.BeginDownload(read_, scalars_, sizeof(Scalars));
  optimizer_.Update(*model_, gradients_, kLearningRate, &scalars_->factor);
  backend.AwaitDownload();
  loss_ = read_->loss / static_cast<double>(tokens());
}

std::vector<StepTimes> StepBench::Run(int count) {
  Backend& backend = model_->backend();
  std::vector<StepTimes> times;
  for (int done = 0; done < count; done += kStepsAtOnce) {
    const int steps = std::min(kStepsAtOnce, count - done);
    for (int step = 0; step < steps; ++step) QueueStep(kMarksOfStep * step);
    backend.Mark(kMarksOfStep * steps);
    backend.Synchronize();
    for (int step = 0; step < steps; ++step) {
      const int mark = kMarksOfStep * step;
      times.push_back({backend.MillisecondsBetween(mark, mark + 1),
                       backend.MillisecondsBetween(mark + 1, mark + 2),
                       backend.MillisecondsBetween(mark + 2, mark + kMarksOfStep)});
    }
  }
  return times;
}

}  // namespace gp::engine
