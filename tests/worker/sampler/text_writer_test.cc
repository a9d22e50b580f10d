#include "worker/sampler/text_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "tokenizer/byte_tokenizer.h"
#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/fakes/bigram_decoder.h"
#include "worker/engine/model/gpt2_decoder.h"

namespace gp::engine {
namespace {

const runspec::ModelShape kShape = {.layers = 2,
                                    .heads = 2,
                                    .channels = 16,
                                    .context = 48,
                                    .vocabulary = 256,
                                    .vocabulary_padded = 256};

// A real decoder with random weights, so large that texts differ.
class RandomModel {
 public:
  explicit RandomModel(int64_t slots, bool bf16 = false)
      : backend_(MakeCpuBackend({.threads = 2})) {
    const int64_t count = runspec::MakeParameterLayout(kShape).total_count;
    auto* master = static_cast<float*>(backend_->Allocate(count * 4));
    std::mt19937 random(1);
    for (int64_t i = 0; i < count; ++i) {
      master[i] = (static_cast<float>(random() % 2001) - 1000) / 2500;
    }
    DecoderWeights weights{.master = master};
    if (bf16) {
      auto* copy = static_cast<uint16_t*>(backend_->Allocate(count * 2));
      backend_->Round(count, copy, master, {});
      weights.working_copy = copy;
    }
    decoder_ = std::make_unique<Gpt2Decoder>(
        DecoderOptions{.shape = kShape, .slots = slots, .length = kShape.context}, weights,
        *backend_);
  }
  Decoder& decoder() { return *decoder_; }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Gpt2Decoder> decoder_;
};

std::vector<int32_t> Ids(std::string_view text) {
  std::vector<int32_t> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

// A random request; requests differ in every setting.
link::Generate RandomRequest(std::mt19937& random, uint64_t number) {
  const auto one_of = [&](std::initializer_list<double> values) {
    return *(values.begin() + random() % values.size());
  };
  link::Generate request{.request = number};
  for (size_t size = 1 + random() % 20; request.prompt.size() < size;) {
    request.prompt.push_back(static_cast<int32_t>(random() % 256));
  }
  request.max_tokens = static_cast<int64_t>(random() % 25);
  request.temperature = one_of({0, 0.5, 1, 2});
  request.top_k = static_cast<int64_t>(one_of({0, 1, 5, 50}));
  request.top_p = one_of({1, 0.9, 0.3});
  request.min_p = one_of({0, 0.05});
  request.presence_penalty = one_of({0, 0.5, -0.5});
  request.frequency_penalty = one_of({0, 0.7});
  if (random() % 2 == 0) request.logit_bias = {{static_cast<int32_t>(random() % 256), 3.0}};
  request.seed = random() % 3;
  request.sample = random() % 3;
  if (random() % 2 == 0) request.stop = {std::string(1, static_cast<char>(random() % 128))};
  if (random() % 2 == 0) request.logprobs = static_cast<int64_t>(random() % 4);
  request.score_prompt = random() % 2 == 0;
  return request;
}

// The answers to each request as text, for comparison.
class Transcript {
 public:
  void Add(const link::Generated& generated) {
    for (const link::TextPiece& piece : generated.pieces) {
      Text& text = texts_[piece.request];
      EXPECT_FALSE(text.ended) << "a piece after the last one";
      text.ended = piece.finish || piece.error;
      text.written += piece.text;
      for (const int32_t token : piece.tokens) text.tokens += std::to_string(token) + " ";
      for (const auto& score : piece.scores) text.scores += Words(score);
      for (const auto& score : piece.prompt_scores) text.prompt_scores += Words(score);
      if (text.ended) text.finish = piece.finish.value_or("error: " + piece.error.value_or(""));
    }
  }
  std::string Of(uint64_t request) {
    const Text& t = texts_[request];
    return t.written + "\n" + t.tokens + "\n" + t.scores + "\n" + t.prompt_scores + "\n" + t.finish;
  }
  bool HasEnded(uint64_t request) { return texts_[request].ended; }
  bool Knows(uint64_t request) const { return texts_.contains(request); }

 private:
  struct Text {
    std::string written, tokens, scores, prompt_scores, finish;
    bool ended = false;
  };
  static std::string Words(const link::TokenScore& score) {
    std::string words = std::to_string(score.logprob) + "[";
    for (size_t i = 0; i < score.top.size(); ++i) {
      words += std::to_string(score.top[i]) + ":" + std::to_string(score.top_logprobs[i]) + " ";
    }
    return words + "]";
  }
  std::map<uint64_t, Text> texts_;
};

std::string Alone(Decoder& decoder, link::Generate request) {
  const ByteTokenizer tokenizer;
  TextWriter writer(decoder, tokenizer);
  writer.Add(request);
  Transcript transcript;
  while (!writer.idle()) transcript.Add(writer.Advance());
  return transcript.Of(request.request);
}

class TextWriterTest : public testing::TestWithParam<bool> {};

// A request's text does not depend on which other requests are present, leave or join, or on how
// prompts are split into calls.
TEST_P(TextWriterTest, ATextDependsOnItsRequestAlone) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  RandomModel single(1, GetParam());
  RandomModel many(5, GetParam());
  const ByteTokenizer tokenizer;
  TextWriter writer(many.decoder(), tokenizer, 1 + static_cast<int64_t>(random() % 7));
  Transcript transcript;
  std::map<uint64_t, link::Generate> requests;
  std::map<uint64_t, bool> withdrawn;
  for (uint64_t number = 0; number < 40 || !writer.idle();) {
    while (number < 40 && random() % 3 == 0) {
      requests[number] = RandomRequest(random, number);
      writer.Add(requests[number++]);
    }
    if (number > 0 && random() % 12 == 0) {
      const uint64_t victim = random() % number;
      if (!transcript.HasEnded(victim)) withdrawn[victim] = true;
      writer.Withdraw(victim);
    }
    transcript.Add(writer.Advance());
  }
  int compared = 0;
  for (const auto& [number, request] : requests) {
    if (withdrawn[number]) continue;
    ++compared;
    ASSERT_EQ(transcript.Of(number), Alone(single.decoder(), request)) << number;
  }
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(Precision, TextWriterTest, testing::Bool(), [](const auto& instance) {
  return instance.param ? std::string("bf16") : std::string("fp32");
});

TEST(TextWriter, NothingIsSaidAboutWhatWasWithdrawn) {
  RandomModel model(1);
  const ByteTokenizer tokenizer;
  TextWriter writer(model.decoder(), tokenizer);
  writer.Add({.request = 1, .prompt = Ids("a"), .max_tokens = 40});
  writer.Advance();
  writer.Withdraw(1);
  EXPECT_TRUE(writer.idle());
  EXPECT_TRUE(writer.Advance().pieces.empty());
}

TEST(TextWriter, WhatCannotBeDoneIsAnErrorOfThatRequestAlone) {
  RandomModel model(2);
  const ByteTokenizer tokenizer;
  TextWriter writer(model.decoder(), tokenizer);
  writer.Add({.request = 1, .prompt = {}});
  writer.Add({.request = 2, .prompt = {256}});
  writer.Add({.request = 3, .prompt = Ids("a"), .temperature = std::nan("")});
  writer.Add({.request = 4, .prompt = Ids("a"), .max_tokens = 3});
  Transcript transcript;
  while (!writer.idle()) transcript.Add(writer.Advance());
  EXPECT_NE(transcript.Of(1).find("error: the prompt has no tokens"), std::string::npos);
  EXPECT_NE(transcript.Of(2).find("token 256 of the prompt"), std::string::npos);
  EXPECT_NE(transcript.Of(3).find("not a finite number"), std::string::npos);
  EXPECT_NE(transcript.Of(4).find("length"), std::string::npos);
}

// A text ends at the model's end tokens, not at the token that separates documents.
TEST(TextWriter, ATextEndsWhereTheModelsFilesSay) {
  for (const std::vector<int32_t>& ends : {std::vector<int32_t>{'c'}, {'x', 'c'}, {'b'}}) {
    BigramDecoder decoder(256, 1, 64);
    for (const char c : {'a', 'b', 'c', 'd'}) decoder.SetLogit(c, c + 1, 60);
    ByteTokenizer tokenizer;
    tokenizer.set_special_tokens({.eos = 'd', .model_eos = ends});
    TextWriter writer(decoder, tokenizer);
    writer.Add({.request = 1, .prompt = Ids("a"), .max_tokens = 4, .temperature = 0});
    writer.Add({.request = 2,
                .prompt = Ids("a"),
                .max_tokens = 4,
                .temperature = 0,
                .ignore_end_of_text = true});
    std::map<uint64_t, std::string> texts;
    while (!writer.idle()) {
      for (const auto& piece : writer.Advance().pieces) texts[piece.request] += piece.text;
    }
    EXPECT_EQ(texts[1], ends.back() == 'b' ? "" : "b");
    EXPECT_EQ(texts[2], "bcde");
  }
}

// The text of a request that generates only `token`, and how it finished.
std::string TextOf(link::Generate request, int32_t token) {
  RandomModel model(1);
  const ByteTokenizer tokenizer;
  TextWriter writer(model.decoder(), tokenizer);
  request.logit_bias = {{token, 100}};
  writer.Add(request);
  std::string text;
  size_t tokens = 0;
  while (!writer.idle()) {
    for (const auto& piece : writer.Advance().pieces) {
      text += piece.text;
      tokens += piece.tokens.size();
      if (piece.finish) text += fmt::format(", {} after {}", *piece.finish, tokens);
    }
  }
  return text;
}

TEST(TextWriter, AStopStringLeavesTheCharacterThatThePromptBegan) {
  link::Generate request{.prompt = {0xc3}, .max_tokens = 4, .continues_prompt = true};
  request.stop = {"\u00e9"};
  EXPECT_EQ(TextOf(request, 0xa9), "\u00e9\ufffd\ufffd\ufffd, length after 4");
}

TEST(TextWriter, AStopStringMayBeTheReplacementCharacter) {
  link::Generate request{.prompt = Ids("a"), .max_tokens = 4, .stop = {"\ufffd"}};
  EXPECT_EQ(TextOf(request, 0xff), ", stop after 0");
  // The end of the text leaves this character incomplete.
  request.max_tokens = 1;
  EXPECT_EQ(TextOf(request, 0xc3), ", stop after 0");
}

TEST(TextWriter, TheTokensOfAPieceAreThoseOfItsText) {
  BigramDecoder decoder(256, 1, 64);
  const std::string cycle = "a\u20acb";
  for (size_t i = 0; i < cycle.size(); ++i) {
    decoder.SetLogit(static_cast<unsigned char>(cycle[i]),
                     static_cast<unsigned char>(cycle[(i + 1) % cycle.size()]), 60);
  }
  const ByteTokenizer tokenizer;
  TextWriter writer(decoder, tokenizer);
  writer.Add({.request = 1, .prompt = Ids("a"), .max_tokens = 7, .temperature = 0, .logprobs = 1});
  std::vector<std::string> texts;
  std::vector<size_t> tokens;
  while (!writer.idle()) {
    for (const auto& piece : writer.Advance().pieces) {
      texts.push_back(piece.text);
      tokens.push_back(piece.tokens.size());
      EXPECT_EQ(piece.scores.size(), piece.tokens.size());
    }
  }
  // Seven bytes: three of the euro sign, b, a, and the first two of the next euro sign, which stays
  // incomplete.
  EXPECT_EQ(texts, (std::vector<std::string>{"\u20ac", "b", "a", "\ufffd"}));
  EXPECT_EQ(tokens, (std::vector<size_t>{3, 1, 1, 2}));
}

}  // namespace
}  // namespace gp::engine
