#include "worker/data/shuffled_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/mix_bits.h"

namespace gp::engine {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> Order(uint64_t key, int64_t count, int64_t first) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < first; ++i) order.push_back(ShuffledIndex(key, i, count));
  return order;
}

// A run resumed with a later version must see the same batches, so the numbers are fixed; they were
// computed independently from the definition.
TEST(ShuffledIndex, IsTheSameInEveryVersion) {
  EXPECT_THAT(Order(12345, 10, 10), ElementsAre(6, 0, 8, 7, 2, 3, 1, 9, 5, 4));
  EXPECT_THAT(Order(7, 1'000'000'000'001, 4),
              ElementsAre(878728095401, 747141343091, 72282947803, 406027759760));
}

TEST(ShuffledIndex, TakesEveryPlaceOnce) {
  for (const int64_t count : {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 4097}) {
    const std::vector<int64_t> order = Order(99, count, count);
    const std::set<int64_t> places(order.begin(), order.end());
    EXPECT_EQ(std::ssize(places), count);
    EXPECT_EQ(*places.begin(), 0);
    EXPECT_EQ(*places.rbegin(), count - 1);
  }
}

// 100 cells with 1,000 draws each: the chi-square statistic with 99 degrees of freedom exceeds 159
// one time in 10,000.
TEST(ShuffledIndex, APlaceIsUniformOverKeys) {
  std::vector<int> cells(100);
  for (uint64_t key = 0; key < 100'000; ++key) {
    ++cells[static_cast<size_t>(ShuffledIndex(MixBits(key), 3, 100))];
  }
  double chi_square = 0;
  for (const int count : cells) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 159);
}

}  // namespace
}  // namespace gp::engine
