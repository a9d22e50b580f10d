// Goal: tokens are sorted stably by id, for one to three passes and any number of tokens.
#include "worker/engine/backend/cuda/kernels/token_sort.h"

#include <algorithm>
#include <numeric>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

std::vector<int32_t> RandomTokens(int64_t count, int64_t below, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> uniform(0, static_cast<int32_t>(below - 1));
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) token = uniform(random);
  return tokens;
}

void ExpectSorted(const std::vector<int32_t>& tokens, int64_t below) {
  const auto count = static_cast<int64_t>(tokens.size());
  const DeviceValues<int32_t> in(tokens);
  const DeviceValues<int32_t> sorted_tokens(tokens.size(), -1);
  const DeviceValues<int32_t> sorted_rows(tokens.size(), -1);
  const DeviceValues<int32_t> scratch(static_cast<size_t>(TokenSortScratch(count)), -1);
  LaunchTokenSort({.count = count,
                   .tokens_below = below,
                   .tokens = in.data(),
                   .sorted_tokens = sorted_tokens.data(),
                   .sorted_rows = sorted_rows.data(),
                   .scratch = scratch.data()},
                  nullptr);
  std::vector<int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto token_of = [&](int32_t row) { return tokens[static_cast<size_t>(row)]; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](int32_t a, int32_t b) { return token_of(a) < token_of(b); });
  EXPECT_EQ(sorted_rows.Get(), rows);
  std::vector<int32_t> expected;
  for (const int32_t row : rows) expected.push_back(token_of(row));
  EXPECT_EQ(sorted_tokens.Get(), expected);
  EXPECT_EQ(in.Get(), tokens);
}

class TokenSortKernels : public DeviceTest {};

TEST_F(TokenSortKernels, SortStably) {
  // Counts below a warp, a block and several blocks; ids of one to three digits.
  for (const int64_t count : {1, 31, 257, 1024, 3001}) {
    for (const int64_t below : {1, 65, 256, 50257, 1 << 24}) {
      SCOPED_TRACE(testing::Message() << count << " tokens below " << below);
      ExpectSorted(RandomTokens(count, below, 3), below);
      if (HasFailure()) return;
    }
  }
}

TEST_F(TokenSortKernels, KeepTheOrderOfEqualTokens) {
  ExpectSorted(std::vector<int32_t>(2500, 300), 50257);
}

TEST_F(TokenSortKernels, TakeTheLargestTokens) {
  ExpectSorted({(1 << 24) - 1, 0, (1 << 24) - 2, 1, (1 << 24) - 1}, 1 << 24);
}

}  // namespace
}  // namespace gp::engine
