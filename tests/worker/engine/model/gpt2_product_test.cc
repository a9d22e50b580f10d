// Goal: every combination of the model's switches gives the reference's gradient. Takes minutes;
// gpt2_switches_test.cc tests all pairs.
#include <gtest/gtest.h>

#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

class Gpt2Product : public testing::TestWithParam<int> {};

// Advances to the next combination of all switches except the last three: the trained parts, the
// threads, which do not change bits (gpt2_invariants_test.cc), and the sizes. False after the last
// combination.
bool Advance(SwitchCase& pick) {
  for (size_t at = 0; at + 3 < pick.size(); ++at) {
    if (++pick[at] < Switches()[at].settings) return true;
    pick[at] = 0;
  }
  return false;
}

// One test for each setting of the last switch, the sizes.
TEST_P(Gpt2Product, OfTheSwitchesEqualsTheReference) {
  SwitchCase pick(Switches().size(), 0);
  pick.back() = GetParam();
  do {
    ExpectMatchesReference(pick);
  } while (Advance(pick));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Gpt2Product, testing::Range(0, 3));

}  // namespace
}  // namespace gp::engine
