// Runs tests/scenarios/*.txt. With --rewrite (or GP_REWRITE=1 in the environment) it rewrites the
// files with the coordinator's current decisions; review the diff afterwards.
#include "coordinator/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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

const std::vector<std::string> kScenarios = {"backoff",     "blame",
                                             "cancel",      "checkpoints",
                                             "cordon",      "damaged",
                                             "data",        "deletion",
                                             "drain",       "drained_gpus",
                                             "elastic",     "engine",
                                             "faulty_node", "faulty_node_queue",
                                             "fork",        "free_slot",
                                             "gang",        "gpu",
                                             "halving",     "joining",
                                             "lease",       "leave",
                                             "legs",        "levels",
                                             "life",        "median",
                                             "nccl",        "own_exits",
                                             "packing",     "pause",
                                             "priority",    "prune",
                                             "regroup",     "restart",
                                             "retry",       "second_reader",
                                             "stall",       "stop",
                                             "storage",     "sweep"};

INSTANTIATE_TEST_SUITE_P(All, Scenario, ::testing::ValuesIn(kScenarios),
                         [](const auto& scenario) { return scenario.param; });

TEST(Scenarios, AreAllNamedHere) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(Directory())) {
    files.push_back(entry.path().stem().string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, kScenarios);
}

}  // namespace
}  // namespace gp::coordinator

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rewrite") == 0) gp::coordinator::rewrite = true;
  }
  return RUN_ALL_TESTS();
}
