#include "worker/data/validation_windows.h"

#include <gtest/gtest.h>

#include <numeric>

namespace gp::engine {
namespace {

std::unique_ptr<TokenSource> Counting(int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return MakeMemoryTokens(tokens);
}

TEST(ValidationWindows, EveryTokenButTheFirstIsATargetOnce) {
  for (const int64_t size : {2, 3, 12, 13, 14, 24, 25, 26, 37, 100}) {
    const auto tokens = Counting(size);
    const auto windows = *ValidationWindows::Make(*tokens, 3, 4, 0);
    EXPECT_EQ(windows.target_count(), size - 1);
    int64_t next = 1;
    for (int64_t index = 0; index < windows.batch_count(); ++index) {
      std::vector<int32_t> inputs(12), targets(12);
      ASSERT_TRUE(windows.Fill(index, inputs, targets).ok());
      for (size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] == -1) continue;
        EXPECT_EQ(targets[i], next++) << size;
        EXPECT_EQ(inputs[i], targets[i] - 1) << size;
      }
    }
    EXPECT_EQ(next, size) << size;
  }
}

TEST(ValidationWindows, StopsAfterTheBatchesAskedFor) {
  const auto tokens = Counting(100);
  const auto windows = *ValidationWindows::Make(*tokens, 3, 4, 2);
  EXPECT_EQ(windows.batch_count(), 2);
  EXPECT_EQ(windows.target_count(), 24);
  EXPECT_EQ(ValidationWindows::Make(*tokens, 3, 4, 1000)->batch_count(), 9);
}

TEST(ValidationWindows, RefusesASplitWithoutATarget) {
  const auto tokens = Counting(1);
  EXPECT_EQ(ValidationWindows::Make(*tokens, 1, 1, 0).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::engine
