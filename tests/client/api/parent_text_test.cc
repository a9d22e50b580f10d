#include "client/api/parent_text.h"

#include <gtest/gtest.h>

namespace gp::client {
namespace {

TEST(ParentText, IsTheNameWithTheStepAndTheIdWithoutAName) {
  v1::CheckpointOfRun parent;
  parent.set_run_id("q1zwjc7b7");
  parent.set_step(150);
  EXPECT_EQ(ParentText(parent), "q1zwjc7b7@150");
  parent.set_run_name("base");
  EXPECT_EQ(ParentText(parent), "base@150");
}

}  // namespace
}  // namespace gp::client
