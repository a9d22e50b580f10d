// Runs tests/scenarios/*.txt. With --rewrite (or GP_REWRITE=1 in the environment) it rewrites the
// files with the coordinator's current decisions; review the diff afterwards.
#include "coordinator/scenario.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/file.h"

namespace gp::coordinator {
namespace {

bool rewrite = std::getenv("GP_REWRITE") != nullptr;

std::string Directory() {
  const char* source = std::getenv("GP_SOURCE");
  return JoinPath(source == nullptr ? "." : source, "tests/scenarios");
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, DecidesAsRecorded) {
  const std::string path = JoinPath(Directory(), GetParam() + ".txt");
  const auto text = ReadFile(path);
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string now = RunScenario(*text);
  if (rewrite) {
    ASSERT_TRUE(WriteFileAtomically(path, now).ok());
  } else {
    EXPECT_EQ(now, *text)
        << "review with: GP_REWRITE=1 ctest -R Scenario; git diff tests/scenarios";
  }
}

INSTANTIATE_TEST_SUITE_P(All, Scenario,
                         ::testing::Values("life", "gang", "priority", "retry", "backoff", "blame",
                                           "lease", "cancel", "checkpoints", "restart", "storage",
                                           "engine", "levels", "damaged", "second_reader", "data",
                                           "nccl", "gpu", "drained_gpus", "packing", "stop",
                                           "cordon", "drain", "pause", "legs", "fork", "free_slot",
                                           "deletion", "prune", "stall", "own_exits", "faulty_node",
                                           "regroup"),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace gp::coordinator

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rewrite") == 0) gp::coordinator::rewrite = true;
  }
  return RUN_ALL_TESTS();
}
