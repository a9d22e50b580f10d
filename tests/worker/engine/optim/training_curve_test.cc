// Goal: from nanoGPT's initialisation, training with the hand-written engine follows the reference
// engine's loss curve at every step. This tests forward, backward, clipping, schedule and AdamW
// together.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "plan/lr_schedule.h"
#include "worker/engine/backend/gradient_factor.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/optim/adamw.h"

namespace gp::engine {
namespace {

constexpr int64_t kSequences = 6;
constexpr int64_t kLength = 24;
constexpr int64_t kSteps = 100;

// Tokens with a pattern that can be learned: each depends on the previous one, with noise.
std::vector<int32_t> MakeTokens(std::mt19937& random) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i <= kSequences * kLength; ++i) {
    const bool follows = i > 0 && random() % 8 != 0;
    tokens.push_back(follows ? (tokens.back() * 5 + 3) % 41 : static_cast<int32_t>(random() % 41));
  }
  return tokens;
}

std::vector<double> LossCurve(runspec::EngineKind kind, runspec::Precision precision,
                              const runspec::TrainedParts& trained = {}) {
  runspec::ModelShape shape{.layers = 2, .heads = 2, .channels = 32, .context = 24};
  shape.vocabulary = 41;
  shape.vocabulary_padded = 41;
  shape.bias = false;
  shape.gelu = runspec::Gelu::kErf;
  const auto model = MakeLanguageModel({.shape = shape,
                                        .kind = kind,
                                        .precision = precision,
                                        .micro_batch = kSequences,
                                        .sequence = kLength,
                                        .trained = trained});
  InitializeTorch(1337, *model);
  const runspec::OptimizerSpec spec{.lr = 1e-3, .beta2 = 0.99};
  const runspec::ScheduleSpec schedule{.warmup_steps = 10};
  AdamW adamw(model->backend(), model->layout(), {.spec = spec});
  std::vector<float> gradients(model->parameters().size());
  std::mt19937 random(5);
  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const std::vector<int32_t> ids = MakeTokens(random);
    const std::span<const int32_t> all(ids);
    const TokenBatch batch{all.first(all.size() - 1), all.subspan(1), kSequences, kLength};
    const double tokens = static_cast<double>(kSequences * kLength);
    losses.push_back(model->Forward(batch, {}) / tokens);
    model->Backward(static_cast<float>(1 / tokens), gradients, false, {});
    const double norm =
        std::sqrt(model->backend().SumOfSquares(gradients.data(), std::ssize(gradients)));
    const float factor = ClipCoefficient(norm, 1.0);
    adamw.Update(*model, gradients, runspec::LearningRate(schedule, spec.lr, kSteps, step),
                 &factor);
  }
  return losses;
}

TEST(TrainingCurve, OfTheFusedEngineIsTheReferences) {
  const std::vector<double> reference =
      LossCurve(runspec::EngineKind::kReference, runspec::Precision::kFp32);
  EXPECT_LT(reference.back(), 0.8 * reference.front());
  const std::vector<double> fused =
      LossCurve(runspec::EngineKind::kFused, runspec::Precision::kFp32);
  const std::vector<double> bf16 =
      LossCurve(runspec::EngineKind::kFused, runspec::Precision::kBf16);
  for (size_t step = 0; step < reference.size(); ++step) {
    EXPECT_NEAR(fused[step] / reference[step], 1, 1e-4) << "step " << step;
    EXPECT_NEAR(bf16[step] / reference[step], 1, 1e-2) << "step " << step;
  }
}

TEST(TrainingCurve, OfSomeTrainedPartsWithRatesOfTheirOwnIsTheReferences) {
  const runspec::ModelPart wte{"wte"}, last{"h", 1, 2}, ln_f{"ln_f"};
  const runspec::TrainedParts tops = {.trained = {last, ln_f}, .rates = {{last, 3}}};
  const runspec::TrainedParts ends = {.trained = {wte, ln_f}, .rates = {{wte, 0.5}}};
  const std::vector<double> all =
      LossCurve(runspec::EngineKind::kReference, runspec::Precision::kFp32);
  for (const runspec::TrainedParts& parts : {tops, ends}) {
    const std::vector<double> reference =
        LossCurve(runspec::EngineKind::kReference, runspec::Precision::kFp32, parts);
    EXPECT_LT(reference.back(), 0.98 * reference.front());
    EXPECT_GT(reference.back(), all.back());
    const std::vector<double> fused =
        LossCurve(runspec::EngineKind::kFused, runspec::Precision::kFp32, parts);
    for (size_t step = 0; step < reference.size(); ++step) {
      EXPECT_NEAR(fused[step] / reference[step], 1, 1e-4) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace gp::engine
