#include "http/byte_budget.h"

#include <gtest/gtest.h>

#include <utility>

namespace gp::http {
namespace {

constexpr size_t kMax = 1'000'000;

TEST(ByteBudget, AClientAloneGetsHalf) {
  const auto budget = std::make_shared<ByteBudget>(kMax);
  ByteBudget::Share share(budget, "a");
  EXPECT_FALSE(share.Resize(kMax / 2 + 1));
  EXPECT_TRUE(share.Resize(kMax / 2));
}

TEST(ByteBudget, AClientMayHoldWhatIsFreeForTheOthers) {
  const auto budget = std::make_shared<ByteBudget>(kMax);
  ByteBudget::Share first(budget, "a"), second(budget, "b");
  ASSERT_TRUE(first.Resize(400'000));
  EXPECT_FALSE(second.Resize(300'001));
  EXPECT_TRUE(second.Resize(300'000));
}

TEST(ByteBudget, TheSharesOfAClientCountTogether) {
  const auto budget = std::make_shared<ByteBudget>(kMax);
  ByteBudget::Share first(budget, "a"), second(budget, "a");
  ASSERT_TRUE(first.Resize(kMax / 2));
  EXPECT_FALSE(second.Resize(ByteBudget::kAlwaysBytes + 1));
  EXPECT_TRUE(second.Resize(ByteBudget::kAlwaysBytes)) << "small requests always pass";
}

TEST(ByteBudget, ARefusalChangesNothing) {
  const auto budget = std::make_shared<ByteBudget>(kMax);
  ByteBudget::Share share(budget, "a");
  ASSERT_TRUE(share.Resize(100'000));
  ASSERT_FALSE(share.Resize(kMax));
  EXPECT_TRUE(share.Resize(kMax / 2));
}

TEST(ByteBudget, TheEndOfAShareGivesItsBytesBack) {
  const auto budget = std::make_shared<ByteBudget>(kMax);
  {
    ByteBudget::Share share(budget, "a");
    ASSERT_TRUE(share.Resize(kMax / 2));
    const ByteBudget::Share moved = std::move(share);
  }
  ByteBudget::Share next(budget, "b");
  EXPECT_TRUE(next.Resize(kMax / 2));
}

TEST(ByteBudget, WithoutABudgetEverythingIsGranted) {
  ByteBudget::Share share;
  EXPECT_TRUE(share.Resize(SIZE_MAX));
}

}  // namespace
}  // namespace gp::http
