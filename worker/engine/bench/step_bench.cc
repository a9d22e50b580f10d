#include "worker/engine/bench/step_bench.h"

#include <chrono>
#include <random>

#include "worker/engine/optim/global_norm.h"

namespace gp::engine {
namespace {

constexpr double kLearningRate = 1e-4;
constexpr double kClip = 1.0;

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

// Milliseconds since `start`, which moves to now.
double Lap(std::chrono::steady_clock::time_point& start) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::milli> elapsed = now - start;
  start = now;
  return elapsed.count();
}

}  // namespace

StepBench::StepBench(const ModelOptions& options, bool fused_optimizer)
    : options_(options),
      model_(MakeLanguageModel(options)),
      optimizer_(model_->backend(), model_->layout(), {.fused = fused_optimizer}),
      gradients_(AllocateGradients(*model_)),
      tokens_(RandomIds(options, 1)),
      targets_(RandomIds(options, 2)) {
  InitializeNormal(1337, *model_);
}

StepTimes StepBench::Step() {
  const TokenBatch batch{tokens_, targets_, options_.micro_batch, options_.sequence};
  const float scale = 1.0f / static_cast<float>(tokens());
  StepTimes times;
  auto start = std::chrono::steady_clock::now();
  model_->ExpectBackward(scale, gradients_, /*accumulate=*/false);
  loss_ = model_->Forward(batch, Dropout{}) / static_cast<double>(tokens());
  times.forward_ms = Lap(start);
  model_->Backward(scale, gradients_, /*accumulate=*/false, {});
  times.backward_ms = Lap(start);
  const double norm = GlobalNorm(model_->backend(), gradients_);
  optimizer_.Update(*model_, gradients_, kLearningRate, ClipCoefficient(norm, kClip));
  times.optimizer_ms = Lap(start);
  return times;
}

}  // namespace gp::engine
