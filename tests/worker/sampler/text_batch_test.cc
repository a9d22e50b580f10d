#include "worker/sampler/text_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "worker/engine/fakes/bigram_decoder.h"

namespace gp::engine {
namespace {

constexpr int64_t kVocabulary = 6;

// A decoder in which token t is followed by t+1 almost surely.
BigramDecoder CountingDecoder(int64_t slots, int64_t length) {
  BigramDecoder decoder(kVocabulary, slots, length);
  for (int64_t t = 0; t < kVocabulary; ++t) decoder.SetLogit(t, (t + 1) % kVocabulary, 60.0f);
  return decoder;
}

TextRequest Request(std::vector<int32_t> prompt, int64_t max_tokens) {
  return {.prompt = std::move(prompt), .max_tokens = max_tokens};
}

struct Written {
  std::vector<int32_t> tokens;
  std::vector<ScoredToken> scores;
  std::vector<ScoredToken> prompt_scores;
  TextEnd end = TextEnd::kNone;
  int64_t passes = 0;  // number of passes of the batch until this text ended
};

// Advances until every text has ended, at most `most` times.
std::map<uint64_t, Written> RunToEnd(TextBatch& batch, int64_t most = 1000) {
  std::map<uint64_t, Written> all;
  for (int64_t pass = 1; pass <= most && !batch.idle(); ++pass) {
    for (TextProgress& progress : batch.Advance()) {
      Written& written = all[progress.id];
      if (progress.token) {
        written.tokens.push_back(*progress.token);
        written.scores.push_back(progress.score);
      }
      for (ScoredToken& score : progress.prompt_scores) written.prompt_scores.push_back(score);
      written.end = progress.end;
      written.passes = pass;
    }
  }
  return all;
}

TEST(TextBatch, WhoWaitsForASlotIsServedInTheOrderOfArrival) {
  BigramDecoder decoder = CountingDecoder(1, 20);
  TextBatch batch(decoder, {.drawable = kVocabulary});
  batch.Add(7, Request({0}, 2));
  batch.Add(3, Request({1}, 1));
  batch.Add(5, Request({2}, 1));
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(7).tokens, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(all.at(3).tokens, (std::vector<int32_t>{2}));
  EXPECT_EQ(all.at(5).tokens, (std::vector<int32_t>{3}));
  EXPECT_EQ(all.at(7).passes, 2);
  EXPECT_EQ(all.at(3).passes, 3);
  EXPECT_EQ(all.at(5).passes, 4);
}

TEST(TextBatch, ATextGoesOnWhileALongPromptIsRead) {
  BigramDecoder decoder = CountingDecoder(2, 100);
  TextBatch batch(decoder, {.drawable = kVocabulary, .prompt_rows = 10});
  batch.Add(0, Request({0}, 6));
  batch.Add(1, Request(std::vector<int32_t>(35, 2), 1));
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(0).passes, 6) << "a token in every pass";
  EXPECT_EQ(all.at(1).passes, 4) << "10 + 10 + 10 + 5 rows";
  EXPECT_EQ(all.at(1).tokens, (std::vector<int32_t>{3}));
  EXPECT_EQ(decoder.rows_read, 1 + 5 + 35);
}

TEST(TextBatch, TheOlderPromptIsReadFirst) {
  BigramDecoder decoder = CountingDecoder(2, 100);
  TextBatch batch(decoder, {.drawable = kVocabulary, .prompt_rows = 10});
  batch.Add(0, Request(std::vector<int32_t>(20, 2), 1));
  batch.Add(1, Request(std::vector<int32_t>(20, 2), 1));
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(0).passes, 2);
  EXPECT_EQ(all.at(1).passes, 4);
}

TEST(TextBatch, ADroppedTextLeavesItsSlotToTheNext) {
  BigramDecoder decoder = CountingDecoder(1, 20);
  TextBatch batch(decoder, {.drawable = kVocabulary});
  batch.Add(0, Request({0}, 1000));
  batch.Add(1, Request({4}, 1));
  batch.Add(2, Request({4}, 1));
  batch.Advance();
  batch.Drop(0);
  batch.Drop(1);
  batch.Drop(99);
  const auto all = RunToEnd(batch);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.at(2).tokens, (std::vector<int32_t>{5}));
  EXPECT_EQ(all.at(2).passes, 1);
}

TEST(TextBatch, TheEndTokenEndsTheTextAndIsNotInIt) {
  BigramDecoder decoder = CountingDecoder(1, 20);
  TextBatch batch(decoder, {.drawable = kVocabulary});
  TextRequest request = Request({1}, 10);
  request.end_tokens = {4};
  batch.Add(0, request);
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(0).tokens, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(all.at(0).end, TextEnd::kEndToken);
}

TEST(TextBatch, PaddedIdsAreNeverDrawn) {
  BigramDecoder decoder(kVocabulary, 1, 600);
  for (int64_t t = 0; t < kVocabulary; ++t) decoder.SetLogit(t, 5, 60.0f);
  TextBatch batch(decoder, {.drawable = 5});
  TextRequest request = Request({1}, 500);
  request.sampling = {.temperature = 1, .top_k = 0};
  request.scored = 10;
  batch.Add(0, request);
  const auto all = RunToEnd(batch);
  for (const int32_t token : all.at(0).tokens) EXPECT_LT(token, 5);
  for (const ScoredToken& score : all.at(0).scores) EXPECT_EQ(score.top.size(), 5u);
}

TEST(TextBatch, LogitsThatAreNoNumbersEndTheTextAlone) {
  BigramDecoder decoder = CountingDecoder(2, 20);
  for (int64_t t = 0; t < kVocabulary; ++t) {
    decoder.SetLogit(5, t, std::numeric_limits<float>::quiet_NaN());
  }
  TextBatch batch(decoder, {.drawable = kVocabulary});
  batch.Add(0, Request({3}, 10));
  batch.Add(1, Request({0}, 3));
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(0).end, TextEnd::kNotFinite);
  EXPECT_EQ(all.at(0).tokens, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(all.at(1).end, TextEnd::kLength);
  EXPECT_EQ(all.at(1).tokens, (std::vector<int32_t>{1, 2, 3}));
}

TEST(TextBatch, ScoresThePromptAlsoWhenItIsReadInPieces) {
  BigramDecoder decoder(kVocabulary, 1, 100);
  for (int64_t t = 0; t < kVocabulary; ++t) decoder.SetLogit(t, t, static_cast<float>(t));
  const std::vector<int32_t> prompt = {1, 1, 2, 3, 3, 3, 5, 0, 4};
  for (const int64_t rows : {1, 2, 4, 100}) {
    TextBatch batch(decoder, {.drawable = kVocabulary, .prompt_rows = rows});
    TextRequest request = Request(prompt, 0);
    request.scored = 2;
    request.score_prompt = true;
    batch.Add(0, request);
    const auto all = RunToEnd(batch);
    ASSERT_EQ(all.at(0).prompt_scores.size(), prompt.size() - 1) << rows;
    EXPECT_EQ(all.at(0).end, TextEnd::kLength);
    for (size_t i = 1; i < prompt.size(); ++i) {
      // After token t, one logit is t and the others are zero.
      const double before = prompt[i - 1];
      const double sum = std::exp(before) + 5;
      const double logit = prompt[i] == prompt[i - 1] ? before : 0;
      EXPECT_NEAR(all.at(0).prompt_scores[i - 1].logprob, logit - std::log(sum), 1e-5);
      EXPECT_EQ(all.at(0).prompt_scores[i - 1].top[0], prompt[i - 1]);
    }
  }
}

TEST(TextBatch, ScoresAreOfTheModelNotOfTheSettings) {
  BigramDecoder decoder(kVocabulary, 1, 20);
  TextBatch batch(decoder, {.drawable = kVocabulary});
  TextRequest request = Request({1}, 1);
  request.sampling = {.logit_bias = {{4, 100}}, .temperature = 0.1};
  request.scored = 1;
  batch.Add(0, request);
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(0).tokens, (std::vector<int32_t>{4}));
  EXPECT_NEAR(all.at(0).scores[0].logprob, -std::log(6.0), 1e-6);
}

TEST(TextBatch, NothingIsReadForATextOfNoTokens) {
  BigramDecoder decoder = CountingDecoder(1, 20);
  TextBatch batch(decoder, {.drawable = kVocabulary});
  batch.Add(0, Request({1}, 0));
  const auto all = RunToEnd(batch);
  EXPECT_EQ(all.at(0).end, TextEnd::kLength);
  EXPECT_EQ(decoder.rows_read, 0);
}

}  // namespace
}  // namespace gp::engine
