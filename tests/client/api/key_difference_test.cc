#include "client/api/key_difference.h"

#include <gtest/gtest.h>

namespace gp::client {
namespace {

v1::Run MakeRun(const std::string& name, const std::string& resolved) {
  v1::Run run;
  run.set_name(name);
  run.set_resolved(resolved);
  return run;
}

TEST(KeyDifference, OnlyKeysThatDifferAreListedInTheOrderOfTheFiles) {
  const std::vector<v1::Run> runs = {
      MakeRun("a", "seed: 1\noptimizer:\n  lr: 0.001\n  kind: adamw\ntrain: []\n"),
      MakeRun("b",
              "seed: 2\noptimizer:\n  lr: 3e-4\n  kind: adamw\ntrain: [wte, first 2 blocks]\n"),
      MakeRun("c", "seed: 1\noptimizer:\n  lr: 0.001\n  kind: adamw\ntrain: []\nextra: yes\n")};
  const auto differences = FindKeyDifferences(runs);
  ASSERT_TRUE(differences.ok());
  const std::vector<KeyDifference> expected = {{"seed", {"1", "2", "1"}},
                                               {"optimizer.lr", {"0.001", "3e-4", "0.001"}},
                                               {"train", {"[]", "[wte, first 2 blocks]", "[]"}},
                                               {"extra", {std::nullopt, std::nullopt, "yes"}}};
  EXPECT_EQ(*differences, expected);
}

TEST(KeyDifference, EntriesOfMapsAreKeys) {
  const std::vector<v1::Run> runs = {MakeRun("a", "labels: {team: blue, sweep: lr}\n"),
                                     MakeRun("b", "labels: {team: red, sweep: lr}\n"),
                                     MakeRun("c", "labels: {}\n")};
  const auto differences = FindKeyDifferences(runs);
  ASSERT_TRUE(differences.ok());
  const std::vector<KeyDifference> expected = {{"labels.team", {"blue", "red", std::nullopt}},
                                               {"labels.sweep", {"lr", "lr", std::nullopt}}};
  EXPECT_EQ(*differences, expected);
}

v1::Run ForkOf(const std::string& parent, const std::string& id, int64_t step) {
  v1::Run run = MakeRun("fork", "init_from: /storage/" + id + "/step-" + std::to_string(step));
  run.mutable_parent()->set_run_name(parent);
  run.mutable_parent()->set_run_id(id);
  run.mutable_parent()->set_step(step);
  return run;
}

TEST(KeyDifference, AParentIsNamedByRunAndStep) {
  const auto differences = FindKeyDifferences(
      std::vector{MakeRun("base", "init_from: scratch"), MakeRun("other", "init_from: /model"),
                  ForkOf("base", "4pvh2mmkzh", 150), ForkOf("", "0a0a0a0a0a", 7)});
  ASSERT_TRUE(differences.ok());
  const std::vector<KeyDifference> expected = {
      {"init_from", {"scratch", "/model", "base@150", "0a0a0a0a0a@7"}}};
  EXPECT_EQ(*differences, expected);
}

TEST(KeyDifference, ParentsOfOneNameAreToldApartByTheirIds) {
  const auto differences = FindKeyDifferences(std::vector{ForkOf("base", "4pvh2mmkzh", 150),
                                                          ForkOf("base", "9qvh2mmkzh", 150),
                                                          ForkOf("base", "4pvh2mmkzh", 100)});
  ASSERT_TRUE(differences.ok());
  const std::vector<KeyDifference> expected = {
      {"init_from", {"base@150 (4pvh2mmkzh)", "base@150 (9qvh2mmkzh)", "base@100"}}};
  EXPECT_EQ(*differences, expected);
  EXPECT_TRUE(FindKeyDifferences(
                  std::vector{ForkOf("base", "4pvh2mmkzh", 150), ForkOf("base", "4pvh2mmkzh", 150)})
                  ->empty());
}

TEST(KeyDifference, EqualFilesAndMissingFilesHaveNoDifferences) {
  EXPECT_TRUE(FindKeyDifferences({})->empty());
  EXPECT_TRUE(FindKeyDifferences(std::vector{MakeRun("a", "seed: 1\n")})->empty());
  EXPECT_TRUE(FindKeyDifferences(std::vector{MakeRun("a", ""), MakeRun("b", "")})->empty());
  EXPECT_EQ(FindKeyDifferences(std::vector{MakeRun("a", ""), MakeRun("b", "seed: 1\n")})->size(),
            1u);
}

TEST(KeyDifference, AFileThatIsNotYamlIsAnErrorWithTheRunAndThePlace) {
  const auto differences = FindKeyDifferences(
      std::vector{MakeRun("good", "seed: 1\n"), MakeRun("bad", "seed: 1\na: [")});
  EXPECT_EQ(differences.status().code(), StatusCode::kInternal);
  const std::string message(Message(differences.status()));
  EXPECT_NE(message.find("the resolved run file of bad cannot be read, line 2"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace gp::client
