// hugging_face_test.py compares the result with Hugging Face's trainer.
#include "tokenizer/training/byte_pair_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/merges_text.h"

namespace gp {
namespace {

using CountedWords = std::vector<CountedPiece>;

BytePairVocabulary Train(const CountedWords& pieces, int64_t vocabulary, int64_t count_min = 1) {
  return *TrainBytePairs(pieces, {.vocabulary = vocabulary, .count_min = count_min});
}

TEST(BytePairTrainer, JoinsTheMostFrequentPairFirst) {
  const BytePairVocabulary vocabulary =
      Train({{"hugs", 5}, {"pug", 5}, {"hug", 4}, {"bun", 4}, {"pun", 1}}, 261);
  EXPECT_EQ(MergeLines(vocabulary), "u g\nh ug\np ug\nu n\n");
  EXPECT_EQ(vocabulary.tokens[260], "<|endoftext|>");
  EXPECT_EQ(vocabulary.tokens[258], "pug");
  EXPECT_EQ(vocabulary.special, std::vector<int32_t>{260});
}

TEST(BytePairTrainer, OfEquallyFrequentPairsTheOneOfSmallerIdsGoesFirst) {
  EXPECT_EQ(MergeLines(Train({{"zy", 3}, {"yx", 3}, {"ab", 3}}, 260)), "a b\ny x\nz y\n");
}

TEST(BytePairTrainer, StopsWhereNoPairIsFrequentEnough) {
  EXPECT_EQ(MergeLines(Train({{"ab", 2}, {"cd", 1}}, 1000, 2)), "a b\n");
  EXPECT_EQ(Train({}, 1000).tokens.size(), 257u);
}

TEST(BytePairTrainer, ARunIsJoinedFromItsFront) {
  const auto tokenizer = BytePairTokenizer(Train({{"aaaaaaa", 1}}, 259, 1));
  EXPECT_EQ(MergeLines(tokenizer.vocabulary()), "a a\naa aa\n");
}

TEST(BytePairTrainer, StopsWhenItIsToldTo) {
  std::string word;
  for (char byte = 1; byte < 127; ++byte) word.push_back(byte);
  const auto result =
      TrainBytePairs({{word, 9}}, {.vocabulary = 400, .progress = [](int64_t) { return false; }});
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
}

// Reference trainer: counts all pairs anew at every step.
std::vector<BytePairMerge> TrainPlainly(const CountedWords& pieces, int64_t merges) {
  std::map<std::string, int32_t> ids;
  std::vector<std::string> tokens;
  for (const unsigned char byte : AlphabetOrder()) {
    tokens.emplace_back(1, static_cast<char>(byte));
    ids[tokens.back()] = static_cast<int32_t>(tokens.size()) - 1;
  }
  std::vector<std::vector<int32_t>> rows;
  for (const CountedPiece& piece : pieces) {
    rows.emplace_back();
    for (const char byte : piece.text) rows.back().push_back(ids.at(std::string(1, byte)));
  }
  std::vector<BytePairMerge> result;
  while (std::ssize(result) < merges) {
    std::map<std::pair<int32_t, int32_t>, int64_t> counts;
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t k = 1; k < rows[i].size(); ++k) {
        counts[{rows[i][k - 1], rows[i][k]}] += pieces[i].count;
      }
    }
    std::pair<int32_t, int32_t> best;
    int64_t most = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most) best = pair, most = count;
    }
    if (most == 0) return result;
    const std::string bytes =
        tokens[static_cast<size_t>(best.first)] + tokens[static_cast<size_t>(best.second)];
    if (ids.emplace(bytes, static_cast<int32_t>(tokens.size())).second) tokens.push_back(bytes);
    result.push_back({best.first, best.second, ids.at(bytes)});
    for (auto& row : rows) {
      std::vector<int32_t> joined;
      for (size_t k = 0; k < row.size(); ++k) {
        const bool joins = k + 1 < row.size() && row[k] == best.first && row[k + 1] == best.second;
        joined.push_back(joins ? result.back().joined : row[k]);
        if (joins) ++k;
      }
      row = std::move(joined);
    }
  }
  return result;
}

TEST(BytePairTrainer, EqualsTheDefinitionOnRandomPieces) {
  std::mt19937 random(17);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, int64_t> words;
    for (int i = 0; i < 40; ++i) {
      std::string word;
      for (uint64_t n = 2 + random() % 14; n > 0; --n)
        word += static_cast<char>('a' + random() % 3);
      words[word] += 1 + static_cast<int64_t>(random() % 5);
    }
    CountedWords pieces;
    for (const auto& [text, count] : words) pieces.push_back({text, count});
    std::sort(pieces.begin(), pieces.end(),
              [](const auto& a, const auto& b) { return a.count > b.count; });
    const BytePairVocabulary vocabulary = Train(pieces, 257 + 40);
    const auto expected = TrainPlainly(pieces, std::ssize(vocabulary.merges));
    EXPECT_EQ(vocabulary.merges, expected) << "round " << round;
  }
}

// The tokenizer encodes the training text with the learned merges.
TEST(BytePairTrainer, TheTokenizerMakesTheLearnedPieces) {
  const BytePairTokenizer tokenizer(Train({{" the", 9}, {" then", 4}, {" of", 3}}, 300));
  EXPECT_EQ(tokenizer.Encode(" the then of")->size(), 3u);
}

TEST(BytePairTrainer, AMillionLettersInOnePieceTakeNoSquareOfTime) {
  const BytePairVocabulary vocabulary = Train({{std::string(1'000'000, 'a'), 1}}, 400, 2);
  EXPECT_GE(vocabulary.merges.size(), 18u);
}

}  // namespace
}  // namespace gp
