#include "tasks/choice_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace gp::tasks {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ChoiceFile File(const std::vector<int64_t>& labels, size_t endings) {
  ChoiceFile file;
  for (const int64_t label : labels) {
    file.items.push_back({.line = std::ssize(file.items) + 1,
                          .context = "c",
                          .endings = std::vector<std::string>(endings, "e"),
                          .label = label});
  }
  return file;
}

std::vector<ChoiceRow> Rows(const std::vector<double>& lengths) {
  std::vector<ChoiceRow> rows;
  for (const double length : lengths)
    rows.push_back({.tokens = {1, 2}, .scored = 1, .length = length});
  return rows;
}

TEST(ChoiceResult, CountsWhatHasTheLeastLossAndTheLeastForItsLength) {
  const ChoiceResult result = JudgeChoices(File({0, 1, 1}, 2), Rows({1, 4, 1, 4, 1, 4}),
                                           std::vector<double>{2, 4, 2, 4, 5, 4});
  EXPECT_EQ(result.correct, 2) << "the shorter loss is first, first, second";
  EXPECT_EQ(result.correct_norm, 2) << "for its length, the second always";
  EXPECT_DOUBLE_EQ(result.acc(), 2.0 / 3);
  EXPECT_EQ(result.items[0].chosen, 0);
  EXPECT_EQ(result.items[0].chosen_norm, 1);
}

TEST(ChoiceResult, OfEqualEndingsTheFirstIsChosenAndInfinityNever) {
  EXPECT_EQ(
      JudgeChoices(File({0}, 3), Rows({1, 1, 1}), std::vector<double>{2, 1, 1}).items[0].chosen, 1);
  EXPECT_EQ(
      JudgeChoices(File({0}, 2), Rows({1, 1}), std::vector<double>{kInfinity, 9}).items[0].chosen,
      1);
}

TEST(ChoiceResult, AnItemsLineHasItsScores) {
  const ChoiceResult result = JudgeChoices(File({1}, 2), Rows({1, 2}), std::vector<double>{3, 5});
  EXPECT_EQ(FormatItem(result.items[0]),
            R"({"line":1,"label":1,"logprobs":[-3.0,-5.0],"logprobs_norm":[-3.0,-2.5],)"
            R"("chosen":0,"chosen_norm":1})");
}

}  // namespace
}  // namespace gp::tasks
