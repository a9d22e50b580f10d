#include "base/text/counted_noun.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(CountedNoun, HasAnEndingUnlessThereIsOne) {
  EXPECT_EQ(CountedNoun(0, "slot"), "0 slots");
  EXPECT_EQ(CountedNoun(1, "GPU slot"), "1 GPU slot");
  EXPECT_EQ(CountedNoun(2, "slot"), "2 slots");
}

TEST(CountedNoun, HasSeparators) {
  EXPECT_EQ(CountedNoun(999, "step"), "999 steps");
  EXPECT_EQ(CountedNoun(1000, "step"), "1,000 steps");
  EXPECT_EQ(CountedNoun(50'000'000, "evaluation"), "50,000,000 evaluations");
  EXPECT_EQ(CountedNoun(-123'456, "step"), "-123,456 steps");
}

}  // namespace
}  // namespace gp
