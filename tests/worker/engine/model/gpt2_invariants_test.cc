// Goal: threads, engines and repetition do not change any bit; accumulation, padding and batch size
// change values only by rounding; bad batches are refused with a message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "plan/arena_plan.h"
#include "worker/engine/model/model_fixture.h"

namespace gp::engine {
namespace {

using runspec::EngineKind;
using runspec::Precision;

const Dropout kDropout{.probability = 0.2, .seed = 4, .step = 6, .shard = 1};

ModelOptions OddOptions(Precision precision) {
  return {
      .shape = OddShape(), .precision = precision, .micro_batch = 4, .sequence = 17, .threads = 2};
}

std::vector<float> GradientsOf(const ModelOptions& options, const Batch& batch) {
  const auto model = MakeLanguageModel(options);
  FillParameters(*model);
  return Gradients(*model, batch.view(), kDropout);
}

TEST(Gpt2Invariants, ThreadsEnginesAndRepetitionKeepTheBits) {
  const Batch batch(OddShape(), 4, 17);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const std::vector<float> expected = GradientsOf(OddOptions(precision), batch);
    EXPECT_EQ(GradientsOf(OddOptions(precision), batch), expected) << "again";
    for (const int threads : {1, 3, 4}) {
      ModelOptions options = OddOptions(precision);
      options.threads = threads;
      EXPECT_EQ(GradientsOf(options, batch), expected) << threads << " threads";
    }
    ModelOptions eager = OddOptions(precision);
    eager.kind = EngineKind::kEager;
    EXPECT_EQ(GradientsOf(eager, batch), expected) << "eager";
  }
}

TEST(Gpt2Invariants, AccumulatedMicroBatchesEqualTheBigBatch) {
  const Batch batch(OddShape(), 4, 17);
  const auto model = MakeLanguageModel(OddOptions(Precision::kFp32));
  FillParameters(*model);
  const std::vector<float> expected = Gradients(*model, batch.view(), {}, 0.25f);
  std::vector<float> sum(expected.size(), 99.0f);
  double loss = 0;
  for (size_t i = 0; i < 4; ++i) {
    const std::span<const int32_t> tokens(batch.tokens);
    const std::span<const int32_t> targets(batch.targets);
    loss += model->Forward({tokens.subspan(17 * i, 17), targets.subspan(17 * i, 17), 1, 17}, {});
    model->Backward(0.25f, sum, i > 0, {});
  }
  EXPECT_NEAR(loss / model->Loss(batch.view()), 1, 1e-6);
  for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
    EXPECT_LT(RelativeDifference(tensor, sum, expected), 1e-5) << tensor.name;
  }
}

TEST(Gpt2Invariants, PaddingTheVocabularyChangesNothing) {
  const Batch batch(OddShape(), 4, 17);
  ModelOptions unpadded = OddOptions(Precision::kFp32);
  unpadded.shape.vocabulary_padded = unpadded.shape.vocabulary;
  const auto with = MakeLanguageModel(OddOptions(Precision::kFp32));
  const auto without = MakeLanguageModel(unpadded);
  FillParameters(*without);
  for (const runspec::ParameterInfo& tensor : without->layout().tensors) {
    std::copy_n(without->parameters().begin() + tensor.offset, tensor.count,
                with->parameters().begin() + with->layout().at(tensor.name).offset);
  }
  // The content of the padding rows must not matter, either.
  const runspec::ParameterInfo& wte = with->layout().at("wte.weight");
  const int64_t used = OddShape().vocabulary * OddShape().channels;
  std::fill_n(with->parameters().begin() + wte.offset + used, wte.count - used, 0.7f);
  EXPECT_EQ(with->Loss(batch.view()), without->Loss(batch.view()));
  const std::vector<float> padded = Gradients(*with, batch.view());
  const std::vector<float> plain = Gradients(*without, batch.view());
  for (const runspec::ParameterInfo& tensor : without->layout().tensors) {
    const int64_t offset = with->layout().at(tensor.name).offset;
    EXPECT_TRUE(std::equal(plain.begin() + tensor.offset,
                           plain.begin() + tensor.offset + tensor.count, padded.begin() + offset))
        << tensor.name;
  }
  for (int64_t i = used; i < wte.count; ++i) {
    ASSERT_EQ(padded[static_cast<size_t>(wte.offset + i)], 0) << "padding row";
  }
}

TEST(Gpt2Invariants, GapsBetweenTensorsHaveNoGradient) {
  const Batch batch(OddShape(), 2, 5);
  const auto model = MakeLanguageModel(OddOptions(Precision::kFp32));
  FillParameters(*model);
  std::vector<float> gradients = Gradients(*model, batch.view());
  for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
    std::fill_n(gradients.begin() + tensor.offset, tensor.count, 0.0f);
  }
  EXPECT_EQ(gradients, std::vector<float>(gradients.size(), 0.0f));
}

// Records the values of each range at the moment when it is announced.
TEST(Gpt2Invariants, AnnouncedGradientsAreFinalAndAnnouncedOnce) {
  const Batch batch(OddShape(), 4, 17);
  for (const bool tied : {true, false}) {
    ModelOptions options = OddOptions(Precision::kFp32);
    options.shape.tied_head = tied;
    const std::vector<float> expected = GradientsOf(options, batch);
    const auto model = MakeLanguageModel(options);
    FillParameters(*model);
    std::vector<float> gradients(expected.size(), 99.0f);
    std::vector<float> announced(expected.size());
    std::vector<int> times(expected.size());
    model->Forward(batch.view(), kDropout);
    model->Backward(1, gradients, false, [&](int64_t first, int64_t last) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
        announced[i] = gradients[i];
        ++times[i];
      }
    });
    EXPECT_EQ(announced, expected) << "tied " << tied;
    EXPECT_EQ(times, std::vector<int>(expected.size(), 1)) << "tied " << tied;
  }
}

TEST(Gpt2Invariants, NextTokenLogitsHaveTheSameBitsInAnyBatch) {
  const Batch batch(OddShape(), 4, 13);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const auto model = MakeLanguageModel(OddOptions(precision));
    FillParameters(*model);
    const size_t vocabulary = 31;
    std::vector<float> together(4 * vocabulary);
    model->NextTokenLogits({batch.tokens, {}, 4, 13}, together);
    for (size_t i = 0; i < 4; ++i) {
      std::vector<float> alone(vocabulary);
      model->NextTokenLogits({std::span(batch.tokens).subspan(13 * i, 13), {}, 1, 13}, alone);
      EXPECT_TRUE(
          std::equal(alone.begin(), alone.end(), together.begin() + 31 * static_cast<long>(i)));
    }
  }
}

TEST(Gpt2Invariants, LogitsEqualTheReferenceEngines) {
  const Batch batch(OddShape(), 3, 13);
  const auto model = MakeLanguageModel(OddOptions(Precision::kFp32));
  ModelOptions options = OddOptions(Precision::kFp32);
  options.kind = EngineKind::kReference;
  const auto reference = MakeLanguageModel(options);
  FillParameters(*model);
  FillParameters(*reference);
  std::vector<float> logits(3 * 31);
  std::vector<float> expected(3 * 31);
  model->NextTokenLogits({batch.tokens, {}, 3, 13}, logits);
  reference->NextTokenLogits({batch.tokens, {}, 3, 13}, expected);
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-5);
}

TEST(Gpt2Invariants, RefusesBatchesThatDoNotFitByName) {
  const auto model = MakeLanguageModel(OddOptions(Precision::kFp32));
  const auto message = [&](const TokenBatch& batch) -> std::string {
    try {
      model->Forward(batch, {});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  Batch batch(OddShape(), 2, 5);
  EXPECT_EQ(message(batch.view()), "accepted");
  EXPECT_THAT(message({batch.tokens, batch.targets, 5, 2}), testing::HasSubstr("5 x 2"));
  EXPECT_THAT(message({batch.tokens, batch.targets, 1, 18}), testing::HasSubstr("1 x 18"));
  EXPECT_THAT(message({batch.tokens, {}, 2, 5}), testing::HasSubstr("0 targets for 10 tokens"));
  batch.targets[4] = -2;
  EXPECT_THAT(message(batch.view()),
              testing::HasSubstr("target -2 is beyond the vocabulary of 31"));
  batch.tokens[3] = 31;
  EXPECT_THAT(message(batch.view()), testing::HasSubstr("token 31 is beyond the vocabulary of 31"));
}

TEST(Gpt2Invariants, RefusesSizesThatDoNotFitEachOther) {
  ModelOptions options = OddOptions(Precision::kFp32);
  options.shape.heads = 4;
  EXPECT_THROW(MakeLanguageModel(options), std::invalid_argument);
  options = OddOptions(Precision::kFp32);
  options.sequence = 20;
  EXPECT_THROW(MakeLanguageModel(options), std::invalid_argument);
  options = OddOptions(Precision::kBf16);
  options.kind = EngineKind::kReference;
  EXPECT_THROW(MakeLanguageModel(options), std::invalid_argument);
}

TEST(ArenaPlan, IsWhatTheModelAllocates) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const ModelOptions options = OddOptions(precision);
    const runspec::ArenaOptions arena{4, 17, precision == Precision::kBf16, 2};
    const auto model = MakeLanguageModel(options);
    const runspec::ArenaPlan plan = runspec::MakeArenaPlan(options.shape, arena);
    EXPECT_EQ(model->backend().allocated_bytes(), plan.total_bytes);
    int64_t end = 0;
    for (const runspec::ArenaTensor& tensor : plan.tensors) {
      EXPECT_EQ(tensor.offset_bytes % 64, 0) << tensor.name;
      EXPECT_GE(tensor.offset_bytes, end) << tensor.name;
      end = tensor.offset_bytes + tensor.size_bytes;
    }
    EXPECT_GE(plan.total_bytes, end);
    EXPECT_EQ(plan.tensors.back().name, "workspace");
    EXPECT_EQ(model->parameters().size_bytes(),
              static_cast<size_t>(plan.at("parameters").size_bytes));
  }
}

}  // namespace
}  // namespace gp::engine
