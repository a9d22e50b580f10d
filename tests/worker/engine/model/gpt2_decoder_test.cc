// Goal: a decoder's logits have the same bits as the full forward pass, whatever else is in the
// batch, however the tokens were split into calls, and whatever the slot contained before.
#include "worker/engine/model/gpt2_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "worker/engine/backend/backend_fixture.h"
#include "worker/engine/model/model_fixture.h"

namespace gp::engine {
namespace {

using runspec::Precision;

constexpr int64_t kLength = 19;

struct Case {
  Isa isa;
  Precision precision;
  // Whether the decoder holds the weights itself; otherwise it uses the model's.
  bool own_weights = false;
};

void SetParameters(LanguageModel& model, Gpt2Decoder& decoder) {
  for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
    decoder.SetParameter(tensor.name,
                         model.parameters().subspan(static_cast<size_t>(tensor.offset),
                                                    static_cast<size_t>(tensor.count)));
  }
}

class Gpt2DecoderTest : public testing::TestWithParam<Case> {
 protected:
  Gpt2DecoderTest() {
    FillParameters(*model_);
    decoder_ = MakeDecoder(3, kLength);
  }

  std::unique_ptr<Gpt2Decoder> MakeDecoder(int64_t slots, int64_t length) {
    const DecoderOptions options{.shape = OddShape(), .slots = slots, .length = length};
    if (!GetParam().own_weights) {
      return std::make_unique<Gpt2Decoder>(options, Weights(), model_->backend());
    }
    auto decoder =
        std::make_unique<Gpt2Decoder>(options, model_->compute_type(), model_->backend());
    SetParameters(*model_, *decoder);
    return decoder;
  }

  DecoderWeights Weights() {
    const auto copy = model_->working_copy();
    return {model_->parameters().data(), copy.empty() ? nullptr : copy.data()};
  }

  // The logits for the token after `tokens`, from a full forward pass.
  std::vector<float> Expected(std::span<const int32_t> tokens) {
    std::vector<float> logits(31);
    model_->NextTokenLogits({tokens, {}, 1, std::ssize(tokens)}, logits);
    return logits;
  }

  std::vector<float> Append(const std::vector<SlotTokens>& added) {
    size_t rows = 0;
    for (const SlotTokens& entry : added) rows += static_cast<size_t>(entry.logit_rows());
    std::vector<float> logits(31 * rows);
    decoder_->Append(added, logits);
    return logits;
  }

  const std::unique_ptr<LanguageModel> model_ =
      MakeLanguageModel({.shape = OddShape(),
                         .precision = GetParam().precision,
                         .micro_batch = 1,
                         .sequence = kLength,
                         .threads = 2,
                         .isa = GetParam().isa});
  const Batch batch_{OddShape(), 3, kLength};
  const std::span<const int32_t> a_ = std::span(batch_.tokens).first(kLength);
  const std::span<const int32_t> b_ = std::span(batch_.tokens).subspan(kLength, kLength);
  const std::span<const int32_t> c_ = std::span(batch_.tokens).last(kLength);
  std::unique_ptr<Gpt2Decoder> decoder_;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Isa isa : SupportedIsas()) {
    for (const bool own_weights : {false, true}) {
      cases.push_back({isa, Precision::kFp32, own_weights});
      cases.push_back({isa, Precision::kBf16, own_weights});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllIsas, Gpt2DecoderTest, testing::ValuesIn(Cases()),
                         [](const auto& tested) {
                           return std::string(IsaName(tested.param.isa)) +
                                  (tested.param.precision == Precision::kBf16 ? "_bf16" : "_fp32") +
                                  (tested.param.own_weights ? "_own_weights" : "");
                         });

TEST_P(Gpt2DecoderTest, TokenByTokenEqualsTheFullPass) {
  for (size_t length = 1; length <= kLength; ++length) {
    EXPECT_EQ(Append({{1, a_.subspan(length - 1, 1)}}), Expected(a_.first(length))) << length;
  }
  EXPECT_EQ(decoder_->length(1), kLength);
}

TEST_P(Gpt2DecoderTest, APromptAtOnceEqualsTheFullPass) {
  for (size_t length = 1; length <= kLength; ++length) {
    decoder_->Clear(0);
    EXPECT_EQ(Append({{0, a_.first(length)}}), Expected(a_.first(length))) << length;
  }
}

// Slots begin and end at different times, and prompts are mixed with single tokens.
TEST_P(Gpt2DecoderTest, OtherSequencesDoNotMatter) {
  Append({{2, c_.first(11)}});
  Append({{0, a_.first(3)}, {2, c_.subspan(11, 2)}});
  decoder_->Clear(2);
  const std::vector<float> logits =
      Append({{1, b_.first(7)}, {2, b_.first(17)}, {0, a_.subspan(3, 1)}});
  const std::span<const float> all(logits);
  EXPECT_TRUE(std::ranges::equal(all.first(31), Expected(b_.first(7))));
  EXPECT_TRUE(std::ranges::equal(all.subspan(31, 31), Expected(b_.first(17))));
  EXPECT_TRUE(std::ranges::equal(all.last(31), Expected(a_.first(4))));
}

// One sequence needs the logits of all its tokens; the others need none, or only the last.
TEST_P(Gpt2DecoderTest, WritesTheLogitsThatAreWanted) {
  Append({{0, a_.first(4), WantedLogits::kNone}});
  const std::vector<float> logits = Append({{1, b_.first(3), WantedLogits::kNone},
                                            {0, a_.subspan(4, 9), WantedLogits::kAll},
                                            {2, c_.first(5)}});
  ASSERT_EQ(logits.size(), 31u * 10);
  const std::span<const float> all(logits);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(std::ranges::equal(all.subspan(31 * i, 31), Expected(a_.first(5 + i)))) << i;
  }
  EXPECT_TRUE(std::ranges::equal(all.last(31), Expected(c_.first(5))));
  EXPECT_EQ(Append({{1, b_.subspan(3, 1)}}), Expected(b_.first(4)));
}

TEST_P(Gpt2DecoderTest, AllocatesWhatThePlanSays) {
  const int64_t before = model_->backend().allocated_bytes();
  MakeDecoder(2, 9);
  const auto plan =
      runspec::MakeDecoderPlan(OddShape(), {.slots = 2,
                                            .length = 9,
                                            .bf16 = GetParam().precision == Precision::kBf16,
                                            .threads = 2,
                                            .own_weights = GetParam().own_weights});
  EXPECT_EQ(model_->backend().allocated_bytes() - before, plan.total_bytes);
}

TEST_P(Gpt2DecoderTest, RefusesWhatDoesNotFit) {
  const std::vector<int32_t> unknown = {31};
  EXPECT_THROW(Append({{3, a_}}), std::invalid_argument);
  EXPECT_THROW(Append({{0, a_}, {0, b_}}), std::invalid_argument);
  EXPECT_THROW(Append({{0, {}}}), std::invalid_argument);
  EXPECT_THROW(Append({{0, std::span(batch_.tokens).first(20)}}), std::invalid_argument);
  EXPECT_THROW(Append({{0, unknown}}), std::invalid_argument);
  std::vector<float> one_row(31);
  const std::vector<SlotTokens> two_rows = {{0, a_.first(2), WantedLogits::kAll}};
  EXPECT_THROW(decoder_->Append(two_rows, one_row), std::invalid_argument);
  EXPECT_EQ(decoder_->length(0), 0);
}

// An untied head, no biases, and matrices with more rows than are packed at once.
TEST(Gpt2Decoder, OwnsTheWeightsOfAnyModel) {
  const runspec::ModelShape shape{.layers = 1,
                                  .heads = 2,
                                  .channels = 200,
                                  .context = 10,
                                  .vocabulary = 1000,
                                  .vocabulary_padded = 1000,
                                  .bias = false,
                                  .tied_head = false};
  const auto model = MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 10});
  FillParameters(*model);
  Gpt2Decoder decoder({.shape = shape, .slots = 1, .length = 10}, DataType::kFloat32,
                      model->backend());
  SetParameters(*model, decoder);
  const Batch batch(shape, 1, 10);
  std::vector<float> logits(1000), expected(1000);
  decoder.Append(std::vector<SlotTokens>{{0, batch.tokens}}, logits);
  model->NextTokenLogits({batch.tokens, {}, 1, 10}, expected);
  EXPECT_EQ(logits, expected);
  EXPECT_THROW(decoder.SetParameter("h.1.ln_1.weight", expected), std::invalid_argument);
  EXPECT_THROW(decoder.SetParameter("ln_f.weight", expected), std::invalid_argument);
}

// More rows than pass at once through the model, or through its head.
TEST(Gpt2Decoder, LongPromptsGoInPieces) {
  const runspec::ModelShape shape{
      .layers = 1, .heads = 2, .channels = 16, .context = 300, .vocabulary = 20};
  const auto model = MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 300});
  FillParameters(*model);
  const Batch batch(shape, 2, 300);
  const std::span<const int32_t> tokens(batch.tokens);
  Gpt2Decoder decoder({.shape = shape, .slots = 2, .length = 300},
                      {.master = model->parameters().data()}, model->backend());
  std::vector<float> logits(20 * 291);
  const std::vector<SlotTokens> added = {{1, tokens.first(290), WantedLogits::kAll},
                                         {0, tokens.subspan(300, 131)}};
  decoder.Append(added, logits);
  const std::span<const float> all(logits);
  std::vector<float> expected(20);
  for (size_t length = 1; length <= 290; length += 17) {
    model->NextTokenLogits({tokens.first(length), {}, 1, static_cast<int64_t>(length)}, expected);
    EXPECT_TRUE(std::ranges::equal(all.subspan(20 * (length - 1), 20), expected)) << length;
  }
  model->NextTokenLogits({tokens.subspan(300, 131), {}, 1, 131}, expected);
  EXPECT_TRUE(std::ranges::equal(all.last(20), expected));
}

}  // namespace
}  // namespace gp::engine
