#include "worker/engine/sampler/token_generator.h"

#include <gtest/gtest.h>

#include "worker/engine/fakes/bigram_model.h"

namespace gp::engine {
namespace {

// After token t comes t+1, almost surely.
BigramModel CountingModel() {
  BigramModel model(6);
  for (int64_t t = 0; t < 6; ++t) model.SetLogit(t, (t + 1) % 6, 60.0f);
  return model;
}

TEST(TokenGenerator, ContinuesThePromptBeyondTheWindow) {
  BigramModel model = CountingModel();
  const std::vector<int32_t> prompt = {0, 1};
  EXPECT_EQ(GenerateTokens(model, prompt, {.max_tokens = 7, .window = 3}),
            (std::vector<int32_t>{2, 3, 4, 5, 0, 1, 2}));
}

TEST(TokenGenerator, TheSeedAndTheSampleDecideTheText) {
  BigramModel uniform(6);
  const std::vector<int32_t> prompt = {0};
  const Generation first{
      .sampling = {.temperature = 1, .top_k = 0}, .max_tokens = 40, .window = 4, .seed = 9};
  Generation second = first;
  second.sample = 1;
  EXPECT_EQ(GenerateTokens(uniform, prompt, first), GenerateTokens(uniform, prompt, first));
  EXPECT_NE(GenerateTokens(uniform, prompt, first), GenerateTokens(uniform, prompt, second));
}

TEST(TokenGenerator, StopsWhenAsked) {
  BigramModel model = CountingModel();
  std::stop_source stop;
  stop.request_stop();
  const std::vector<int32_t> prompt = {0};
  EXPECT_TRUE(
      GenerateTokens(model, prompt, {.max_tokens = 7, .window = 3}, stop.get_token()).empty());
}

}  // namespace
}  // namespace gp::engine
