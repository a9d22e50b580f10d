// Goal: every combination of the model's switches gives the oracle's gradient. Minutes long: the
// pairs are in gpt2_switches_test.cc.
#include <gtest/gtest.h>

#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

class Gpt2Product : public testing::TestWithParam<int> {};

// One test for each setting of the sizes, the last switch.
TEST_P(Gpt2Product, OfTheSwitchesEqualsTheReference) {
  SwitchCase pick(Switches().size(), 0);
  pick.back() = GetParam();
  size_t at = 0;
  while (at + 1 < pick.size()) {
    ExpectMatchesReference(pick);
    for (at = 0; at + 1 < pick.size(); ++at) {
      if (++pick[at] < Switches()[at].settings) break;
      pick[at] = 0;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Gpt2Product, testing::Range(0, 3));

}  // namespace
}  // namespace gp::engine
