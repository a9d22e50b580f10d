#include "base/text/counted_noun.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(CountedNoun, HasAnEndingUnlessThereIsOne) {
  EXPECT_EQ(CountedNoun(0, "slot"), "0 slots");
  EXPECT_EQ(CountedNoun(1, "GPU slot"), "1 GPU slot");
  EXPECT_EQ(CountedNoun(2, "slot"), "2 slots");
}

}  // namespace
}  // namespace gp
