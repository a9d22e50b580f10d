// Goal: retries end when the budget is used, and say how many there were.
#include "storage/object/attempts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace gp::object {
namespace {

using std::chrono::milliseconds;

TEST(Attempts, EndWithTheBudget) {
  const auto begin = std::chrono::steady_clock::now();
  Attempts attempts(
      {.pause = {.initial = milliseconds(1), .max = milliseconds(4)}, .budget = milliseconds(40)});
  int count = 1;
  while (attempts.Next()) ++count;
  // The pauses are 4 ms at most, so at least ten fit; none begins beyond the budget.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(36));
  EXPECT_EQ(attempts.Text().substr(0, attempts.Text().find(" in ")),
            fmt::format("{} attempt{}", count, count == 1 ? "" : "s"));
}

TEST(Attempts, OneIsMadeWithoutABudget) {
  Attempts attempts({.budget = milliseconds(0)});
  EXPECT_FALSE(attempts.Next());
  EXPECT_TRUE(attempts.Text().starts_with("1 attempt in ")) << attempts.Text();
}

}  // namespace
}  // namespace gp::object
