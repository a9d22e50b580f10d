// The sampler on a device: its weights are in device memory, and it generates the same texts as on
// the CPU, unless two logits are almost equal.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/random_id.h"
#include "worker/engine/fakes/random_checkpoint.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/sampler/checkpoint_sampler.h"
#include "worker/sampler/streaming_detokenizer.h"
#include "worker/sampler/token_generator.h"

namespace gp::engine {
namespace {

class DeviceSamplerTest : public testing::Test {
 protected:
  ~DeviceSamplerTest() override { EXPECT_TRUE(RemoveTree(directory_).ok()); }

  CheckpointSampler Open(runspec::Precision precision) {
    auto sampler = CheckpointSampler::Open(WriteRandomCheckpoint(directory_, 5),
                                           {.slots = 3, .precision = precision});
    EXPECT_TRUE(sampler.ok()) << sampler.status();
    return *std::move(sampler);
  }

  const std::string directory_ = testing::TempDir() + "gp-device-sampler-" + RandomId(8);
};

const SampleRequest kGreedy = {.prompt = "The", .sampling = {.temperature = 0}, .max_tokens = 12};

// The text from full passes of the model on the CPU.
std::string TextOnCpu(const Tokenizer& tokenizer) {
  const auto model = MakeRandomModel();
  std::vector<int32_t> tokens = {'T', 'h', 'e'};
  std::vector<float> logits(256);
  StreamingDetokenizer stream(tokenizer, {});
  std::string text = kGreedy.prompt;
  for (int64_t i = 0; i < kGreedy.max_tokens; ++i) {
    const auto seen = std::span<const int32_t>(tokens).last(std::min<size_t>(tokens.size(), 8));
    model->NextTokenLogits({seen, {}, 1, std::ssize(seen)}, logits);
    tokens.push_back(
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    text += stream.Add(tokens.back()).text;
  }
  return text + stream.Finish().text;
}

TEST_F(DeviceSamplerTest, WritesTheTextOfTheCpu) {
  CheckpointSampler sampler = Open(runspec::Precision::kFp32);
  EXPECT_FALSE(sampler.model().reproducible());
  const auto texts = sampler.Sample({&kGreedy, 1});
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(texts->at(0), TextOnCpu(sampler.model().tokenizer()));
}

// Drawn with the same seeds by a decoder on the CPU, all at once.
std::vector<std::string> TextsOnCpu(const std::vector<SampleRequest>& requests,
                                    const Tokenizer& tokenizer) {
  const auto model = MakeRandomModel();
  Gpt2Decoder decoder({.shape = kRandomModelShape,
                       .slots = std::ssize(requests),
                       .length = kRandomModelShape.context},
                      {model->parameters().data()}, model->backend());
  const std::vector<int32_t> prompt = {'T', 'h', 'e'};
  std::vector<Generation> generations;
  for (const SampleRequest& request : requests) {
    generations.push_back(
        {prompt, request.sampling, request.max_tokens, request.seed, request.sample});
  }
  std::vector<std::string> texts;
  for (const auto& tokens : GenerateTokens(decoder, generations, decoder.vocabulary())) {
    StreamingDetokenizer stream(tokenizer, {});
    std::string text = "The";
    for (const int32_t token : tokens) text += stream.Add(token).text;
    texts.push_back(text + stream.Finish().text);
  }
  return texts;
}

// Some need only the likeliest tokens, others all logits; texts end at different times.
TEST_F(DeviceSamplerTest, DrawsWhatTheCpuDraws) {
  CheckpointSampler sampler = Open(runspec::Precision::kFp32);
  std::vector<SampleRequest> requests(7, kGreedy);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].max_tokens = static_cast<int64_t>(4 + 2 * i);
    requests[i].seed = 40 + i;
    requests[i].ignore_end_of_text = true;
  }
  requests[1].sampling = {};
  requests[2].sampling = {.temperature = 1.2, .top_k = 0};
  requests[3].sampling = {.temperature = 2, .top_k = 64, .top_p = 0.9};
  requests[4].sampling = {.frequency_penalty = 1.5};
  requests[5].sampling = {.top_k = 20, .min_p = 0.05};
  const auto texts = sampler.Sample(requests);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(*texts, TextsOnCpu(requests, sampler.model().tokenizer()));
}

TEST_F(DeviceSamplerTest, WritesManyTextsSideBySideInBf16) {
  CheckpointSampler sampler = Open(runspec::Precision::kBf16);
  EXPECT_EQ(sampler.model().precision(), runspec::Precision::kBf16);
  std::vector<SampleRequest> requests(7, kGreedy);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].max_tokens = static_cast<int64_t>(3 * i);
  const auto texts = sampler.Sample(requests);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(texts->at(0), "The");
  for (size_t i = 1; i < requests.size(); ++i) {
    EXPECT_TRUE(texts->at(i).starts_with("The")) << i;
    EXPECT_GT(texts->at(i).size(), texts->at(i - 1).size()) << i;
  }
}

}  // namespace
}  // namespace gp::engine
