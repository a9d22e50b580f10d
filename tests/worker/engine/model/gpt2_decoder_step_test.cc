// Goal: the steps of a decoder on a device give the bits of the host, also when they are replayed
// with other rows, and the likeliest tokens are those of all logits.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "plan/decoder_plan.h"
#include "worker/engine/fakes/detached_backend.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {
namespace {

// Five texts: a prompt each, then steps, of which each drops the first text.
class Steps {
 public:
  explicit Steps(const ModelOptions& options)
      : model_(MakeLanguageModel(options)),
        decoder_({.shape = options.shape, .slots = 5, .length = 12}, {model_->parameters().data()},
                 (InitializeNormal(5, *model_), model_->backend())) {
    for (int64_t slot = 0; slot < 5; ++slot) {
      Append({{slot, std::span(tokens_).first(static_cast<size_t>(1 + slot))}});
    }
  }

  std::vector<float> Append(const std::vector<SlotTokens>& added) {
    int64_t rows = 0;
    for (const SlotTokens& entry : added) rows += entry.logit_rows();
    std::vector<float> logits(static_cast<size_t>(rows * decoder_.vocabulary()));
    decoder_.Append(added, logits);
    return logits;
  }
  // One token for each slot from `first` on.
  std::vector<SlotTokens> Tokens(int64_t first) const {
    std::vector<SlotTokens> added;
    for (int64_t slot = first; slot < 5; ++slot) {
      added.push_back({slot, std::span(tokens_).subspan(static_cast<size_t>(slot), 1)});
    }
    return added;
  }
  Decoder& decoder() { return decoder_; }
  int64_t replays() const { return dynamic_cast<DetachedBackend&>(model_->backend()).replays(); }

 private:
  const std::vector<int32_t> tokens_ = {1, 4, 7, 2, 90, 3, 11};
  const std::unique_ptr<LanguageModel> model_;
  Gpt2Decoder decoder_;
};

ModelOptions ManyTokens(bool on_device) {
  return {.shape = {.layers = 2,
                    .heads = 2,
                    .channels = 16,
                    .context = 12,
                    .vocabulary = 100,
                    .vocabulary_padded = 104},
          .micro_batch = 1,
          .sequence = 12,
          .device = {.on = on_device}};
}

TEST(Gpt2DecoderStep, IsReplayedWithTheBitsOfTheHost) {
  Steps host(ManyTokens(false)), device(ManyTokens(true));
  for (const int64_t first : {0, 0, 1, 3, 4, 2, 0}) {
    EXPECT_EQ(device.Append(device.Tokens(first)), host.Append(host.Tokens(first))) << first;
  }
  // 5, 5, 4, 2, 1, 3 and 5 rows are padded to 8, 4, 2 and 1, each recorded once.
  EXPECT_GE(device.replays(), 3);
}

TEST(Gpt2DecoderStep, FindsTheLikeliestTokens) {
  Steps host(ManyTokens(false)), device(ManyTokens(true));
  EXPECT_EQ(host.decoder().likely_count(), 0);
  ASSERT_EQ(device.decoder().likely_count(), runspec::kLikelyTokens);
  for (int round = 0; round < 3; ++round) {
    const std::vector<float> logits = host.Append(host.Tokens(0));
    std::vector<LikelyTokens> likely(5, {.below = 97});
    std::vector<SlotTokens> added = device.Tokens(0);
    for (const size_t entry : {0u, 2u, 4u}) added[entry].likely = &likely[entry];
    const std::vector<float> others = device.Append(added);
    for (const size_t entry : {0u, 2u, 4u}) {
      const auto row = std::span(logits).subspan(entry * 100, 97);
      ASSERT_EQ(likely[entry].ids.size(), 64u);
      for (size_t i = 0; i < 64; ++i) {
        const float logit = row[static_cast<size_t>(likely[entry].ids[i])];
        EXPECT_EQ(likely[entry].logits[i], logit);
        EXPECT_EQ(std::ranges::count_if(row, [&](float other) { return other > logit; }), i);
      }
    }
    EXPECT_TRUE(
        std::ranges::equal(std::span(others).first(100), std::span(logits).subspan(100, 100)));
    EXPECT_TRUE(
        std::ranges::equal(std::span(others).last(100), std::span(logits).subspan(300, 100)));
  }
}

// Of a prompt, whose last piece is no step.
TEST(Gpt2DecoderStep, APromptHasLikelyTokensToo) {
  Steps host(ManyTokens(false)), device(ManyTokens(true));
  const std::vector<int32_t> more = {5, 6, 7};
  LikelyTokens likely{.below = 100};
  const std::vector<float> logits = host.Append({{1, more}});
  device.Append({{1, more, WantedLogits::kLast, &likely}});
  EXPECT_EQ(likely.logits[0], *std::ranges::max_element(logits));
  EXPECT_THROW(host.Append({{2, more, WantedLogits::kLast, &likely}}), std::invalid_argument);
  LikelyTokens few{.below = 63}, other{.below = 99};
  EXPECT_THROW(device.Append({{2, more, WantedLogits::kLast, &few}}), std::invalid_argument);
  EXPECT_THROW(device.Append({{2, more, WantedLogits::kLast, &likely},
                              {3, more, WantedLogits::kLast, &other}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace gp::engine
