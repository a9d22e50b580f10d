// Goal: a fork has its parent's run file with what the user changes, goes on where the parent was,
// and refuses what a checkpoint cannot give.
#include "client/gpctl/commands/legs/fork_run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runspec/batch_plan.h"
#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// 32 tokens a step.
constexpr char kFile[] =
    "apiVersion: gp/v1\n"
    "name: base\n"
    "model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\n"
    "data: {text: [/text.txt], tokenizer: bytes}\n"
    "batch: {micro_batch: 2, sequence: 16}\n";

class MakeFork : public ::testing::Test {
 protected:
  explicit MakeFork(const std::string& more = "budget: {steps: 300}\n") {
    const auto file = runspec::LoadRunFile(kFile + more, "run.yaml");
    EXPECT_TRUE(file.spec.has_value());
    source_ = {.text = "base@150",
               .run = "base",
               .run_id = "aaaaaaaa01",
               .directory = "/srv/runs/aaaaaaaa01/checkpoints/c",
               .run_file = runspec::ResolvedYaml(*file.spec),
               .step = 150,
               .tokens = 4800,
               .target_steps = 300};
  }

  StatusOr<ForkRunFile> Make(const std::vector<std::string>& overrides = {}) const {
    ForkRequest request = request_;
    request.overrides.insert(request.overrides.end(), overrides.begin(), overrides.end());
    return MakeForkRunFile(source_, request, "gpctl fork base@150");
  }
  std::string Refusal(const std::vector<std::string>& overrides = {}) const {
    const auto refused = Make(overrides);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << refused.status();
    return gp::Message(refused.status());
  }

  ForkSource source_;
  ForkRequest request_{.name = "base-fork"};
};

TEST_F(MakeFork, GoesOnWhereTheParentWas) {
  const auto fork = Make();
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(fork->spec.name, "base-fork");
  EXPECT_EQ(fork->spec.init_from, source_.directory);
  EXPECT_TRUE(fork->spec.KeepsOptimizer());
  EXPECT_TRUE(fork->spec.KeepsData());
  EXPECT_EQ(fork->spec.budget.steps, 300);
  EXPECT_EQ(fork->start, (runspec::TrainingStart{.step = 150, .tokens = 4800}));
  EXPECT_EQ(fork->why_data_reset, "");
  EXPECT_TRUE(fork->changes.empty());
}

TEST_F(MakeFork, ToldChangesAreThoseOfTheUser) {
  const auto fork = Make({"optimizer.lr=5e-4", "name=mine"});
  ASSERT_TRUE(fork.ok()) << fork.status();
  ASSERT_EQ(fork->changes.size(), 1u);
  EXPECT_EQ(fork->changes[0].key, "optimizer.lr");
  EXPECT_TRUE(fork->spec.KeepsData());
}

TEST_F(MakeFork, OtherDataOrAnotherSeedBeginAtTheStart) {
  for (const std::string change : {"data.text=/other.txt", "seed=7", "data.val_fraction=0.2"}) {
    const auto fork = Make({change});
    ASSERT_TRUE(fork.ok()) << fork.status();
    EXPECT_FALSE(fork->spec.KeepsData()) << change;
    EXPECT_TRUE(fork->spec.KeepsOptimizer());
    EXPECT_EQ(fork->start, runspec::TrainingStart());
    EXPECT_EQ(fork->why_data_reset, change.substr(0, change.find('=')) + " changes");
  }
  EXPECT_TRUE(Make({"seed=1337"})->spec.KeepsData()) << "it has this value already";
  EXPECT_TRUE(Make({"seed=7", "init_data=keep"})->spec.KeepsData()) << "the user asks for it";
}

TEST_F(MakeFork, WhatIsResetIsNotKept) {
  request_.reset_optimizer = true;
  EXPECT_FALSE(Make()->spec.KeepsOptimizer());
  EXPECT_TRUE(Make()->spec.KeepsData());
  request_.reset_data = true;
  EXPECT_FALSE(Make()->spec.KeepsData());
  EXPECT_EQ(Make()->why_data_reset, "--reset-data");
}

TEST_F(MakeFork, AnotherBatchGoesOn) {
  EXPECT_TRUE(Make({"batch.total_tokens=64"})->spec.KeepsData());
  EXPECT_TRUE(Make({"batch.micro_batch=1"})->spec.KeepsData());
  EXPECT_TRUE(Make({"batch.sequence=8"})->spec.KeepsData());
  source_.run_file.replace(source_.run_file.find("order: random"), 13, "order: shuffled");
  EXPECT_TRUE(Make({"batch.total_tokens=64"})->spec.KeepsData());
  EXPECT_EQ(Make({"batch.sequence=8"})->why_data_reset, "batch.sequence changes")
      << "a pass is made of sequences";
}

TEST_F(MakeFork, TheLimitsOfItsRanksFollowTheirNumber) {
  const auto two = Make({"resources.workers=2", "batch.total_tokens=64"});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(two->spec.resources.max_workers, 2);
  source_.run_file = runspec::ResolvedYaml(two->spec);
  const auto one = Make({"resources.workers=1"});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->spec.resources.min_workers, 1);
  EXPECT_EQ(one->spec.resources.max_workers, 2) << "the sums stay as they were";
  EXPECT_THAT(Refusal({"resources.workers=4"}), HasSubstr("batch.total_tokens"));
}

TEST_F(MakeFork, AnotherModelIsRefusedWithBothValues) {
  EXPECT_THAT(Refusal({"model.n_layer=2", "model.n_ctx=32"}),
              AllOf(HasSubstr("--set model.n_layer: the weights of base@150 have model.n_layer 1, "
                              "not 2"),
                    HasSubstr("--set model.n_ctx: "), HasSubstr("gpctl submit")));
  EXPECT_TRUE(Make({"model.dropout=0.1"}).ok());
}

TEST_F(MakeFork, AnotherOptimizerNeedsANewState) {
  EXPECT_THAT(Refusal({"optimizer.kind=muon"}),
              AllOf(StartsWith("--set optimizer.kind: "), HasSubstr("--reset-optimizer")));
  request_.reset_optimizer = true;
  EXPECT_TRUE(Make({"optimizer.kind=muon"}).ok());
}

TEST_F(MakeFork, TheCheckpointIsNamedOnce) {
  EXPECT_THAT(Refusal({"init_from=other@5"}), StartsWith("--set init_from: "));
  EXPECT_THAT(Refusal({"optimizer.lr=fast"}), HasSubstr("--set optimizer.lr"));
  request_.steps = request_.tokens = "5";
  EXPECT_EQ(Refusal(), "--steps and --tokens exclude each other");
}

TEST_F(MakeFork, ALargerBudgetKeepsTheEndOfTheSchedule) {
  request_.steps = "500";
  auto fork = Make();
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(fork->spec.budget.steps, 500);
  EXPECT_EQ(fork->spec.schedule.decay_steps, 300);
  EXPECT_EQ(Make({"schedule.decay_steps=500"})->spec.schedule.decay_steps, 500);
  request_.steps = "+50";
  EXPECT_EQ(Make()->spec.budget.steps, 200);
  request_.steps = "";
  EXPECT_EQ(Make({"budget.steps=500"})->spec.schedule.decay_steps, 300);
  request_.tokens = "+3200";
  fork = Make();
  EXPECT_EQ(fork->spec.budget.tokens, 8000);
  EXPECT_EQ(runspec::TargetSteps(fork->spec, fork->start), 250);
  request_.reset_data = true;
  EXPECT_EQ(Make()->spec.schedule.decay_steps, 0) << "its schedule begins again";
  EXPECT_EQ(Make()->spec.budget.tokens, 3200);
}

TEST_F(MakeFork, AUsedUpBudgetIsRefusedWithTheCommandThatGivesMore) {
  source_.step = 300;
  source_.tokens = 9600;
  source_.text = "base@300";
  EXPECT_EQ(Refusal(),
            "base@300 is at step 300, and its budget is 300 steps: nothing is left to train; give "
            "the fork more: gpctl fork base@150 --steps +300");
  request_.steps = "+300";
  EXPECT_TRUE(Make().ok());
  request_.steps = "200";
  EXPECT_THAT(Refusal(), HasSubstr("its budget is 200 steps"));
  request_.steps = "";
  request_.reset_data = true;
  EXPECT_TRUE(Make().ok()) << "its steps begin at 0";
}

TEST_F(MakeFork, ATokenizerFromACheckpointIsTakenFromTheNewOne) {
  source_.run_file.replace(source_.run_file.find("tokenizer: bytes"), 16,
                           "tokenizer: /srv/runs/old/checkpoints/d/tokenizer.json");
  const auto fork = Make();
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(fork->spec.data.tokenizer, source_.directory + "/tokenizer.json");
  EXPECT_TRUE(fork->changes.empty());
  EXPECT_TRUE(fork->spec.KeepsData());
}

class MakeForkOfTokens : public MakeFork {
 protected:
  MakeForkOfTokens() : MakeFork("budget: {tokens: 9600}\n") {}
};

TEST_F(MakeForkOfTokens, TokensOfTheParentCountWithAnotherBatch) {
  const auto fork = Make({"batch.total_tokens=64"});
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(runspec::TargetSteps(fork->spec, fork->start), 225) << "75 steps of 64 tokens";
  source_.tokens = source_.step * 32 * 2;
  EXPECT_THAT(Refusal(), HasSubstr("9,600 tokens, and its budget is 9,600"));
}

class MakeForkOfTime : public MakeFork {
 protected:
  MakeForkOfTime() : MakeFork("budget: {wall_time: 2m}\n") {}
};

TEST_F(MakeForkOfTime, StepsReplaceTheWallTimeAndItsMeasuredStepsAreTheHorizon) {
  EXPECT_TRUE(Make().ok());
  request_.steps = "500";
  const auto fork = Make();
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(fork->spec.budget.wall_time.count(), 0);
  EXPECT_EQ(fork->spec.schedule.decay_steps, 300);
}

}  // namespace
}  // namespace gp::gpctl
