#include "worker/evaluator/evaluator.h"

#include <gtest/gtest.h>

#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/fakes/bigram_model.h"

namespace gp::engine {
namespace {

constexpr int64_t kVocabulary = 5;
constexpr int64_t kBatches = 7;

// Batches of 3 tokens, all different.
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

// The result on each rank of a group.
std::vector<std::optional<double>> EvaluateOn(int world_size, int64_t batch_count) {
  auto group = MakeLocalGroup(world_size, 8);
  std::vector<std::optional<double>> results(group.size());
  OnEachRank(group, [&](size_t rank) {
    BigramModel model = UnevenModel();
    Batches batches;
    const auto evaluation = Evaluate(
        model, *group[rank], batch_count, [&](int64_t index) { return batches.At(index); },
        TokenBytes(ByteTokenizer()));
    if (evaluation) results[rank] = evaluation->loss;
  });
  return results;
}

TEST(Evaluator, AModelThatKnowsNothingScoresTheLogarithmOfTheVocabulary) {
  BigramModel model(kVocabulary);
  Batches batches;
  auto group = MakeLocalGroup(1, 1);
  const auto evaluation = Evaluate(
      model, *group[0], kBatches, [&](int64_t index) { return batches.At(index); },
      TokenBytes(ByteTokenizer()));
  ASSERT_TRUE(evaluation.has_value());
  // The tolerance allows for rounding of exp and log in double.
  EXPECT_NEAR(evaluation->loss, std::log(5.0), 1e-12);
  EXPECT_EQ(evaluation->tokens, 3 * kBatches - 1);
  EXPECT_EQ(evaluation->bytes, 3 * kBatches - 1) << "a token is a byte";
  ASSERT_TRUE(evaluation->bits_per_byte().has_value());
  EXPECT_NEAR(*evaluation->bits_per_byte(), std::log2(5.0), 1e-12);
}

TEST(Evaluator, BytesAreThoseOfTheTargets) {
  // The tokens "a", "é" and "€" have 1, 2 and 3 bytes; the tokenizer has no tokens for the ids 3
  // and 4.
  const auto tokenizer = CharTokenizer::FromText("a\u00e9\u20ac");
  ASSERT_TRUE(tokenizer.ok());
  const std::vector<int32_t> tokens = {0, 1, 2}, targets = {1, 2, -1}, unnamed = {1, 4, -1};
  BigramModel model(kVocabulary);
  auto group = MakeLocalGroup(1, 1);
  const auto evaluate = [&](const std::vector<int32_t>& of) {
    return Evaluate(
        model, *group[0], 1,
        [&](int64_t) {
          return TokenBatch{tokens, of, 1, 3};
        },
        TokenBytes(**tokenizer));
  };
  EXPECT_EQ(evaluate(targets)->bytes, 5);
  EXPECT_NEAR(*evaluate(targets)->bits_per_byte(), 2 * std::log2(5.0) / 5, 1e-12);
  EXPECT_EQ(evaluate(unnamed)->bytes, std::nullopt);
  EXPECT_EQ(evaluate(unnamed)->bits_per_byte(), std::nullopt);
}

TEST(Evaluator, EveryRankOfEveryWorldSizeFindsTheSameBits) {
  const auto alone = EvaluateOn(1, kBatches)[0];
  ASSERT_TRUE(alone.has_value());
  for (const int world_size : {2, 3, 4, 8}) {
    for (const auto& result : EvaluateOn(world_size, kBatches)) EXPECT_EQ(result, alone);
  }
}

TEST(Evaluator, TheWindowsAddUpToTheLoss) {
  auto group = MakeLocalGroup(1, 1);
  BigramModel model = UnevenModel();
  Batches batches;
  const auto evaluation = Evaluate(
      model, *group[0], kBatches, [&](int64_t index) { return batches.At(index); },
      TokenBytes(ByteTokenizer()));
  ASSERT_TRUE(evaluation.has_value());
  ASSERT_EQ(evaluation->windows.size(), static_cast<size_t>(kBatches));
  double nats = 0;
  int64_t tokens = 0;
  for (const WindowLoss& window : evaluation->windows) {
    nats += window.nats;
    tokens += window.tokens;
  }
  EXPECT_EQ(evaluation->windows[2].tokens, 2) << "one target does not count";
  EXPECT_EQ(tokens, evaluation->tokens);
  EXPECT_DOUBLE_EQ(nats / static_cast<double>(tokens), evaluation->loss);
}

TEST(Evaluator, NoBatchesNoLoss) { EXPECT_EQ(EvaluateOn(2, 0)[1], std::nullopt); }

TEST(Evaluator, ALossThatIsNotANumberIsNotLost) {
  auto group = MakeLocalGroup(1, 1);
  BigramModel model(kVocabulary);
  model.SetLogit(0, 0, std::nanf(""));
  Batches batches;
  const auto evaluation = Evaluate(
      model, *group[0], kBatches, [&](int64_t index) { return batches.At(index); },
      TokenBytes(ByteTokenizer()));
  EXPECT_TRUE(evaluation.has_value() && std::isinf(evaluation->loss));
}

}  // namespace
}  // namespace gp::engine
