#include "worker/sampler/token_generator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "worker/engine/fakes/bigram_decoder.h"

namespace gp::engine {
namespace {

// A decoder in which token t is followed by t+1 almost surely.
BigramDecoder CountingDecoder(int64_t slots, int64_t length) {
  BigramDecoder decoder(6, slots, length);
  for (int64_t t = 0; t < 6; ++t) decoder.SetLogit(t, (t + 1) % 6, 60.0f);
  return decoder;
}

std::vector<int32_t> Generate(Decoder& decoder, const Generation& generation,
                              const std::stop_token& stop = {}) {
  return GenerateTokens(decoder, {&generation, 1}, decoder.vocabulary(), stop)[0];
}

const std::vector<int32_t> kPrompt = {0, 1};

TEST(TokenGenerator, ReadsEveryTokenOnce) {
  BigramDecoder decoder = CountingDecoder(1, 20);
  EXPECT_EQ(Generate(decoder, {.prompt = kPrompt, .max_tokens = 7}),
            (std::vector<int32_t>{2, 3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(decoder.rows_read, 2 + 6);
}

TEST(TokenGenerator, GoesOnBeyondTheWindowWithTheNewestTokens) {
  BigramDecoder decoder = CountingDecoder(1, 3);
  EXPECT_EQ(Generate(decoder, {.prompt = kPrompt, .max_tokens = 7}),
            (std::vector<int32_t>{2, 3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(decoder.rows_read, 2 + 1 + 5 * 3);
  const std::vector<int32_t> longer = {5, 5, 5, 0, 1};
  EXPECT_EQ(Generate(decoder, {.prompt = longer, .max_tokens = 2}), (std::vector<int32_t>{2, 3}));
}

TEST(TokenGenerator, TextsDoNotDependOnTheirNeighbours) {
  BigramDecoder uniform(6, 3, 4);
  const std::vector<int32_t> other = {3, 4, 5};
  const Generation first{
      .prompt = kPrompt, .sampling = {.temperature = 1, .top_k = 0}, .max_tokens = 40, .seed = 9};
  Generation second = first;
  second.sample = 1;
  second.max_tokens = 0;
  Generation third = first;
  third.prompt = other;
  third.max_tokens = 11;
  const std::vector<Generation> together = {third, second, first};
  const auto texts = GenerateTokens(uniform, together, uniform.vocabulary());
  EXPECT_EQ(texts[0], Generate(uniform, third));
  EXPECT_TRUE(texts[1].empty());
  EXPECT_EQ(texts[2], Generate(uniform, first));
  EXPECT_EQ(texts[2].size(), 40u);
}

TEST(TokenGenerator, TheSeedAndTheSampleDecideTheText) {
  BigramDecoder uniform(6, 1, 4);
  const Generation first{
      .prompt = kPrompt, .sampling = {.temperature = 1, .top_k = 0}, .max_tokens = 40, .seed = 9};
  Generation second = first;
  second.sample = 1;
  EXPECT_EQ(Generate(uniform, first), Generate(uniform, first));
  EXPECT_NE(Generate(uniform, first), Generate(uniform, second));
}

TEST(TokenGenerator, DrawsOnlyDrawableIds) {
  BigramDecoder uniform(6, 1, 4);
  const Generation generation{
      .prompt = kPrompt, .sampling = {.temperature = 1, .top_k = 0}, .max_tokens = 200};
  const auto text = GenerateTokens(uniform, {&generation, 1}, 4)[0];
  EXPECT_EQ(text.size(), 200u);
  EXPECT_EQ(*std::ranges::max_element(text), 3);
}

TEST(TokenGenerator, StopsWhenAsked) {
  BigramDecoder decoder = CountingDecoder(1, 3);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(Generate(decoder, {.prompt = kPrompt, .max_tokens = 7}, stop.get_token()).empty());
}

}  // namespace
}  // namespace gp::engine
