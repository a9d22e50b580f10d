#include "worker/engine/eval/evaluator.h"

#include <gtest/gtest.h>

#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/fakes/bigram_model.h"

namespace gp::engine {
namespace {

constexpr int64_t kVocabulary = 5;
constexpr int64_t kBatches = 7;

// Batches of 3 tokens that are all different.
class Batches {
 public:
  TokenBatch At(int64_t index) {
    for (size_t i = 0; i < 3; ++i) {
      tokens_[i] = static_cast<int32_t>((index + static_cast<int64_t>(i)) % kVocabulary);
      targets_[i] = static_cast<int32_t>((index * 3 + static_cast<int64_t>(i)) % kVocabulary);
    }
    if (index == 2) targets_[1] = -1;
    return {tokens_, targets_, 1, 3};
  }

 private:
  std::vector<int32_t> tokens_ = std::vector<int32_t>(3);
  std::vector<int32_t> targets_ = std::vector<int32_t>(3);
};

BigramModel UnevenModel() {
  BigramModel model(kVocabulary);
  for (int64_t i = 0; i < kVocabulary * kVocabulary; ++i) {
    model.SetLogit(i / kVocabulary, i % kVocabulary, 0.1f * static_cast<float>((i * 7) % 11));
  }
  return model;
}

// What each rank of a group computes.
std::vector<std::optional<double>> EvaluateOn(int world_size, int64_t batch_count) {
  auto group = MakeLocalGroup(world_size, 8);
  std::vector<std::optional<double>> results(group.size());
  OnEachRank(group, [&](size_t rank) {
    BigramModel model = UnevenModel();
    Batches batches;
    results[rank] = Evaluate(model, *group[rank], batch_count,
                             [&](int64_t index) { return batches.At(index); });
  });
  return results;
}

TEST(Evaluator, AModelThatKnowsNothingScoresTheLogarithmOfTheVocabulary) {
  BigramModel model(kVocabulary);
  Batches batches;
  auto group = MakeLocalGroup(1, 1);
  const auto loss =
      Evaluate(model, *group[0], kBatches, [&](int64_t index) { return batches.At(index); });
  ASSERT_TRUE(loss.has_value());
  // Tolerance: rounding of exp and log in double.
  EXPECT_NEAR(*loss, std::log(5.0), 1e-12);
}

TEST(Evaluator, EveryRankOfEveryWorldSizeFindsTheSameBits) {
  const auto alone = EvaluateOn(1, kBatches)[0];
  ASSERT_TRUE(alone.has_value());
  for (const int world_size : {2, 3, 4, 8}) {
    for (const auto& result : EvaluateOn(world_size, kBatches)) EXPECT_EQ(result, alone);
  }
}

TEST(Evaluator, NoBatchesNoLoss) { EXPECT_EQ(EvaluateOn(2, 0)[1], std::nullopt); }

TEST(Evaluator, ALossThatIsNotANumberIsNotLost) {
  auto group = MakeLocalGroup(1, 1);
  BigramModel model(kVocabulary);
  model.SetLogit(0, 0, std::nanf(""));
  Batches batches;
  const auto loss =
      Evaluate(model, *group[0], kBatches, [&](int64_t index) { return batches.At(index); });
  EXPECT_TRUE(loss.has_value() && std::isinf(*loss));
}

}  // namespace
}  // namespace gp::engine
