#include "runspec/sweep/sweep_file.h"

#include <gtest/gtest.h>

#include "runspec/run_file.h"

namespace gp::runspec {
namespace {

constexpr char kHead[] = "apiVersion: gp/v1\nkind: Sweep\nname: rates\nrun: run.yaml\n";

std::string Problems(const std::string& text) {
  return RenderProblems(ReadSweepFile(text, "sweep.yaml").problems);
}

TEST(SweepFile, IsReadWithItsDefaults) {
  const auto result =
      ReadSweepFile(std::string(kHead) + "grid: {optimizer.lr: [1e-3, 3e-4], train: [[wte], []]}\n",
                    "sweep.yaml");
  ASSERT_TRUE(result.file) << RenderProblems(result.problems);
  EXPECT_EQ(result.file->name, "rates");
  EXPECT_EQ(result.file->run_path, "run.yaml");
  EXPECT_EQ(result.file->max_parallel, 4);
  EXPECT_EQ(result.file->early_stop, "none");
  ASSERT_EQ(result.file->grid.size(), 2U);
  EXPECT_EQ(result.file->grid[0].path, "optimizer.lr");
  EXPECT_EQ(result.file->grid[0].values, (std::vector<std::string>{"1e-3", "3e-4"}));
  EXPECT_EQ(result.file->grid[1].values, (std::vector<std::string>{"[wte]", "[]"}));
}

TEST(SweepFile, HasRangesInTheTypeOfTheirKey) {
  const auto result = ReadSweepFile(std::string(kHead) +
                                        "random:\n"
                                        "  trials: 20\n"
                                        "  seed: 7\n"
                                        "  optimizer.lr: {min: 1e-4, max: 1e-2, scale: log}\n"
                                        "  model.n_layer: {min: 1, max: 4}\n"
                                        "  schedule.kind: [cosine, linear]\n"
                                        "repeats: {seeds: [3, 5]}\n"
                                        "early_stop: {kind: halving, min_steps: 10, eta: 2}\n",
                                    "sweep.yaml");
  ASSERT_TRUE(result.file) << RenderProblems(result.problems);
  const SweepFile& file = *result.file;
  EXPECT_EQ(file.random_trials, 20);
  EXPECT_EQ(file.random_seed, 7U);
  ASSERT_EQ(file.random.size(), 3U);
  EXPECT_TRUE(file.random[0].range->log);
  EXPECT_FALSE(file.random[0].range->whole);
  EXPECT_TRUE(file.random[1].range->whole);
  EXPECT_EQ(file.random[2].values.size(), 2U);
  EXPECT_EQ(file.seeds, (std::vector<std::string>{"3", "5"}));
  EXPECT_EQ(file.early_stop, "halving");
  EXPECT_EQ(file.eta, 2);
}

TEST(SweepFile, RunFileInsideKeepsItsLines) {
  const auto result = ReadSweepFile(
      "apiVersion: gp/v1\nkind: Sweep\nname: s\nrun:\n  apiVersion: gp/v1\n  nam: x\n"
      "grid: {seed: [1, 2]}\n",
      "sweep.yaml");
  ASSERT_TRUE(result.file) << RenderProblems(result.problems);
  EXPECT_EQ(result.file->run_text, "\n\n\n\n  apiVersion: gp/v1\n  nam: x\n");
  const auto run = LoadRunFile(result.file->run_text, "sweep.yaml");
  ASSERT_FALSE(run.problems.empty());
  EXPECT_EQ(run.problems[0].line, 6);
  EXPECT_EQ(run.problems[0].column, 3);
}

TEST(SweepFile, ValuesThatBreakTheSchemaAreReportedWithTheirPlace) {
  const std::string problems =
      Problems(std::string(kHead) +
               "grid:\n  optimizer.lr: [1e-3, fast]\n  optimizer.learning_rate: [1]\n"
               "random:\n  trials: 4\n  optimizer.beta1: {min: 0.5, max: 7}\n"
               "  optimizer.kind: {min: 1, max: 2}\n  model.n_layer: {min: 4, max: 2}\n");
  EXPECT_NE(problems.find("sweep.yaml:6:24: optimizer.lr must be"), std::string::npos) << problems;
  EXPECT_NE(problems.find("did you mean 'optimizer.lr'?"), std::string::npos) << problems;
  EXPECT_NE(problems.find("sweep.yaml:10:36: optimizer.beta1 must be"), std::string::npos)
      << problems;
  EXPECT_NE(problems.find("optimizer.kind is not a number: give a list"), std::string::npos)
      << problems;
  EXPECT_NE(problems.find("model.n_layer: min must be below max"), std::string::npos) << problems;
}

TEST(SweepFile, AMillionTrialsAreRefusedWithTheirCount) {
  std::string values = "1";
  for (int i = 2; i <= 100; ++i) values += "," + std::to_string(i);
  const std::string problems =
      Problems(std::string(kHead) + "grid: {seed: [" + values + "], model.n_layer: [" + values +
               "], model.n_head: [" + values + "]}\n");
  EXPECT_NE(problems.find("the sweep has 1000000 trials (100 x 100 x 100); at most 1000"),
            std::string::npos)
      << problems;
}

TEST(SweepFile, WhatIsMissingIsReportedAtOnce) {
  const std::string problems = Problems("name: -x\nearly_stop: {kind: median}\n");
  for (const char* expected : {"apiVersion is missing", "kind is missing", "'-x' cannot be",
                               "run is missing", "nothing varies", "min_steps is missing"}) {
    EXPECT_NE(problems.find(expected), std::string::npos) << expected << "\n" << problems;
  }
}

TEST(SweepFile, UnknownKeysAndBadValuesAreReported) {
  const std::string problems = Problems(std::string(kHead) +
                                        "gird: {seed: [1]}\nearly_stop: {kind: asha}\n"
                                        "max_parallel: 0\nrepeats: {seed: [1]}\ngrid: [1]\n");
  for (const char* expected :
       {"unknown key 'gird'", "early_stop.kind must be one of", "max_parallel must be",
        "repeats must be a number", "grid must be a map"}) {
    EXPECT_NE(problems.find(expected), std::string::npos) << expected << "\n" << problems;
  }
}

TEST(SweepFile, SeedsAreSetOnce) {
  EXPECT_NE(Problems(std::string(kHead) + "grid: {seed: [1, 2]}\nrepeats: 3\n")
                .find("seed is varied, and repeats sets it, too"),
            std::string::npos);
  EXPECT_NE(Problems(std::string(kHead) + "grid: {budget.steps: [1, 2]}\n"
                                          "early_stop: {kind: halving, min_steps: 10}\n")
                .find("budget.steps is varied, but halving gives trials their budgets"),
            std::string::npos);
}

TEST(SweepFile, RefusesTrialsThatAreEqual) {
  const std::string grid = std::string(kHead) + "grid: {optimizer.lr: [1e-3, 3e-4]}\n";
  EXPECT_NE(Problems(grid + "repeats: {seeds: [1, 2, 1]}\n").find("has the seed 1 twice"),
            std::string::npos);
  EXPECT_NE(Problems(std::string(kHead) + "random: {trials: 20, model.n_layer: {min: 2, max: 8}}\n")
                .find("random: 20 draws give"),
            std::string::npos);
}

TEST(SweepFile, AnEarlyStopNeedsItsKind) {
  EXPECT_NE(Problems(std::string(kHead) +
                     "grid: {optimizer.lr: [1e-3, 3e-4]}\nearly_stop: {min_steps: 500}\n")
                .find("early_stop.kind is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace gp::runspec
