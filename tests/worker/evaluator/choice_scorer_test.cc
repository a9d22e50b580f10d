#include "worker/evaluator/choice_scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/fakes/bigram_model.h"
#include "worker/engine/model/model_fixture.h"

namespace gp::engine {
namespace {

using tasks::ChoiceRow;

std::vector<ChoiceRow> RandomRows(size_t count, unsigned seed = 11) {
  std::mt19937 random(seed);
  std::vector<ChoiceRow> rows(count);
  for (ChoiceRow& row : rows) {
    const size_t length = 2 + random() % 18;
    for (size_t i = 0; i < length; ++i) row.tokens.push_back(static_cast<int32_t>(random() % 31));
    row.scored = 1 + static_cast<int64_t>(random() % (length - 1));
    row.length = static_cast<double>(row.scored);
  }
  return rows;
}

std::unique_ptr<LanguageModel> OddModel(int64_t chunked_head = 0) {
  auto model = MakeLanguageModel({.shape = OddShape(),
                                  .micro_batch = 4,
                                  .sequence = 19,
                                  .threads = 2,
                                  .chunked_head = chunked_head});
  FillParameters(*model);
  return model;
}

// The losses on each rank.
std::vector<std::vector<double>> ScoresOn(int world_size, const std::vector<ChoiceRow>& rows) {
  auto group = MakeLocalGroup(world_size, 16);
  std::vector<std::vector<double>> scores(group.size());
  OnEachRank(group, [&](size_t rank) {
    const auto model = OddModel();
    scores[rank] = ChoiceScorer(rows, 4).Score(*model, *group[rank]);
  });
  return scores;
}

TEST(ChoiceScorer, AnEndingsLossIsThatOfItsTokensBehindTheOthers) {
  const std::vector<ChoiceRow> rows = RandomRows(30);
  for (const int64_t chunked_head : {0, 6}) {
    const auto model = OddModel(chunked_head);
    auto group = MakeLocalGroup(1, 1);
    const std::vector<double> scores = ChoiceScorer(rows, 4).Score(*model, *group[0]);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto length = static_cast<size_t>(rows[i].input_length());
      std::vector<int32_t> targets(rows[i].tokens.begin() + 1, rows[i].tokens.end());
      std::fill(targets.begin(), targets.end() - rows[i].scored, -1);
      const double alone = model->Loss(
          {std::span(rows[i].tokens).first(length), targets, 1, rows[i].input_length()});
      // The tolerance is needed because the order of fp32 sums depends on the other rows in the
      // product.
      EXPECT_NEAR(scores[i], alone, 1e-4) << "row " << i;
    }
  }
}

TEST(ChoiceScorer, OneTwoAndThreeRanksFindTheSameBits) {
  const std::vector<ChoiceRow> rows = RandomRows(31);
  const std::vector<double> alone = ScoresOn(1, rows)[0];
  for (const int world_size : {2, 3}) {
    for (const auto& scores : ScoresOn(world_size, rows)) EXPECT_EQ(scores, alone);
  }
}

TEST(ChoiceScorer, MoreRanksThanRowsFindTheSameBits) {
  const std::vector<ChoiceRow> rows = RandomRows(5);
  const std::vector<double> alone = ScoresOn(1, rows)[0];
  for (const auto& scores : ScoresOn(8, rows)) EXPECT_EQ(scores, alone);
}

TEST(ChoiceScorer, WhatIsNoNumberIsInfinity) {
  BigramModel model(31);
  model.SetLogit(0, 0, std::nanf(""));
  const std::vector<ChoiceRow> rows = {{.tokens = {0, 0}, .scored = 1, .length = 1},
                                       {.tokens = {1, 0}, .scored = 1, .length = 1}};
  auto group = MakeLocalGroup(1, 1);
  const std::vector<double> scores = ChoiceScorer(rows, 2).Score(model, *group[0]);
  EXPECT_TRUE(std::isinf(scores[0]));
  EXPECT_NEAR(scores[1], std::log(31.0), 1e-6);
}

TEST(ChoiceScorer, IsBrokenOffBeforeABatch) {
  const std::vector<ChoiceRow> rows = RandomRows(9);
  const auto model = OddModel();
  auto group = MakeLocalGroup(1, 1);
  int batches = 0;
  EXPECT_THROW(ChoiceScorer(rows, 4).Score(*model, *group[0],
                                           [&] {
                                             if (++batches == 2) throw std::runtime_error("stop");
                                           }),
               std::runtime_error);
  EXPECT_EQ(batches, 2);
}

}  // namespace
}  // namespace gp::engine
