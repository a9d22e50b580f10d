// Goal: every combination of the model's switches gives the oracle's gradient. Minutes long: the
// pairs are in gpt2_switches_test.cc.
#include <gtest/gtest.h>

#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

class Gpt2Product : public testing::TestWithParam<int> {};

// The next combination of all switches except the last three: trained parts, threads, which keep
// the bits (gpt2_invariants_test.cc), and sizes. False after the last one.
bool Advance(SwitchCase& pick) {
  for (size_t at = 0; at + 3 < pick.size(); ++at) {
    if (++pick[at] < Switches()[at].settings) return true;
    pick[at] = 0;
  }
  return false;
}

// One test for each setting of the sizes, the last switch.
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
