// Goal: another leg keeps what identifies the run and its schedule, and gets the budget it asks
// for.
#include "coordinator/service/continuation.h"

#include <google/protobuf/reflection.h>
#include <gtest/gtest.h>

#include <limits>

#include "coordinator/state/run_state.h"
#include "proto/every_field.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

constexpr char kFile[] =
    "apiVersion: gp/v1\n"
    "name: base\n"
    "model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\n"
    "data: {text: [/text.txt], tokenizer: bytes}\n"
    "batch: {micro_batch: 2, sequence: 16}\n";

class PrepareLegTest : public ::testing::Test {
 protected:
  // A run that has ended at step 300, with the budget that the file says.
  explicit PrepareLegTest(const std::string& budget = "budget: {steps: 300}\n") {
    const auto same = [](const std::string&, const std::string& name) { return name; };
    auto resolved = resolver_.Resolve({{kFile + budget, "run.yaml", ""}, {}, "", same});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    Submission submission = std::move(resolved->submission);
    submission.of_owner = true;
    submission.run_directory = "/storage/runs/r";
    submission.labels = {{"a", "b"}};
    run_.id = RunId("r");
    run_.submission = std::make_shared<const Submission>(std::move(submission));
    run_.state = RunState::kSucceeded;
    run_.checkpoints.push_back({contract::WrittenCheckpoint{.step = 300}});
  }

  StatusOr<LegRequested> Prepare(v1::ContinueRequest request) const {
    if (request.request_id().empty()) request.set_request_id("one");
    ASSIGN_OR_RETURN(const PreparedLeg leg, PrepareLeg(request, run_, progress_, resolver_));
    EXPECT_EQ(leg.event.run, run_.id);
    EXPECT_EQ(leg.event.request_id, "one");
    return std::get<LegRequested>(leg.event.body);
  }
  std::string Refusal(const v1::ContinueRequest& request) const {
    return gp::Message(Prepare(request).status());
  }

  const SpecResolver resolver_;
  RunValue run_;
  Progress progress_;
};

v1::ContinueRequest Steps(int64_t steps) {
  v1::ContinueRequest request;
  request.set_steps(steps);
  return request;
}

TEST_F(PrepareLegTest, ALargerBudgetKeepsTheHorizonOfTheSchedule) {
  const auto leg = Prepare(Steps(500));
  ASSERT_TRUE(leg.ok()) << leg.status();
  EXPECT_EQ(leg->why, "extended to 500 steps");
  EXPECT_EQ(leg->first_step, std::nullopt);
  EXPECT_EQ(leg->submission.target_steps, 500);
  EXPECT_NE(leg->submission.resolved.find("decay_steps: 300"), std::string::npos);
  EXPECT_EQ(leg->submission.name, "base");
  EXPECT_EQ(leg->submission.run_directory, "/storage/runs/r");
  EXPECT_EQ(leg->submission.labels, run_.submission->labels);
  EXPECT_TRUE(leg->submission.of_owner);
}

TEST_F(PrepareLegTest, MoreIsAddedToTheBudget) {
  v1::ContinueRequest request;
  request.set_more_steps(200);
  EXPECT_EQ(Prepare(request)->submission.target_steps, 500);
  v1::ContinueRequest tokens;
  tokens.set_more_tokens(run_.submission->target_tokens);
  EXPECT_EQ(Prepare(tokens)->submission.target_steps, 600);
}

TEST_F(PrepareLegTest, AnOverrideOfTheScheduleReplacesTheHorizon) {
  v1::ContinueRequest request = Steps(500);
  request.add_overrides("schedule.decay_steps=500");
  const auto leg = Prepare(request);
  ASSERT_TRUE(leg.ok()) << leg.status();
  EXPECT_NE(leg->submission.resolved.find("decay_steps: 500"), std::string::npos);
}

TEST_F(PrepareLegTest, WhatDecidesTheTrainingIsRefusedWithTheWayToForkIt) {
  for (const char* override : {"optimizer.lr=1", "model.n_embd=32", "seed=2", "data.text=[/x]",
                               "name=other", "batch.total_tokens=64", "evaluation=1"}) {
    v1::ContinueRequest request = Steps(500);
    request.add_overrides(override);
    EXPECT_NE(Refusal(request).find(std::string("gpctl fork base --set ") + override),
              std::string::npos)
        << Refusal(request);
  }
  v1::ContinueRequest budget;
  budget.add_overrides("budget.steps=500");
  EXPECT_EQ(Refusal(budget), "budget.steps: say how long to train, with steps or tokens");
}

TEST_F(PrepareLegTest, ARunWithoutStepsLeftIsToldHowToGetMore) {
  EXPECT_EQ(Refusal({}),
            "run 'base' is at step 300, and its budget is 300 steps; give it more: gpctl extend "
            "base --steps +N");
  EXPECT_EQ(Refusal(Steps(200)),
            "run 'base' is at step 300, and its budget is 200 steps; give it more: gpctl extend "
            "base --steps +N");
  EXPECT_EQ(Refusal(Steps(-1)), "steps: -1 is not a number of 1 or more");
}

TEST_F(PrepareLegTest, AFailedRunIsTriedAgainAndACancelledOneResumed) {
  run_.checkpoints[0].step = 200;
  run_.state = RunState::kFailed;
  EXPECT_EQ(Prepare({})->why, "retried");
  run_.state = RunState::kCancelled;
  EXPECT_EQ(Prepare({})->why, "resumed");
  run_.state = RunState::kRunning;
  EXPECT_EQ(Refusal({}), "run 'base' is running; there is nothing to change");
}

TEST_F(PrepareLegTest, AnAmountThatOverflowsIsRefused) {
  v1::ContinueRequest request;
  request.set_more_steps(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Refusal(request),
            "more_steps: 9223372036854775807 is too large: with the 300 so far, budget.steps may "
            "be at most 1000000000");
  request.set_more_tokens(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Refusal(request),
            "more_tokens: 9223372036854775807 is too large: with the 9600 so far, budget.tokens "
            "may be at most 1000000000000000");
}

TEST_F(PrepareLegTest, TokensBecomeWholeSteps) {
  v1::ContinueRequest request;
  request.set_request_id("one");
  request.set_more_tokens(10);
  EXPECT_EQ(Refusal(request),
            "run 'base' is at step 300, and 9610 tokens end before step 301: a step takes 32 "
            "tokens; give it at least one step more: gpctl extend base --tokens +32");
  request.set_more_tokens(50);
  const auto leg = PrepareLeg(request, run_, progress_, resolver_);
  ASSERT_TRUE(leg.ok()) << leg.status();
  ASSERT_EQ(leg->warnings.size(), 1u);
  EXPECT_EQ(leg->warnings[0],
            "only whole steps are trained: of 9650 tokens the run takes 9632, which end at step "
            "301");
  request.set_more_tokens(32);
  EXPECT_TRUE(PrepareLeg(request, run_, progress_, resolver_)->warnings.empty());
}

TEST_F(PrepareLegTest, ARestartFromAStepWithoutACheckpointListsTheSteps) {
  run_.checkpoints = {{contract::WrittenCheckpoint{.step = 50}},
                      {contract::WrittenCheckpoint{.step = 100}},
                      {contract::WrittenCheckpoint{.step = 300}}};
  run_.checkpoints[0].retired = true;
  v1::ContinueRequest request;
  for (const int64_t step : {150, 999}) {
    request.set_from_step(step);
    EXPECT_EQ(Refusal(request), "run 'base': it has no checkpoint of step " + std::to_string(step) +
                                    "; it has steps 100, 300");
  }
  run_.checkpoints.clear();
  EXPECT_EQ(Refusal(request),
            "run 'base': it has no checkpoint of step 999; it has none; begin again: gpctl restart "
            "base --from start");
}

TEST_F(PrepareLegTest, ARestartNamesItsStep) {
  run_.checkpoints.insert(run_.checkpoints.begin(), {contract::WrittenCheckpoint{.step = 100}});
  v1::ContinueRequest request;
  request.set_from_step(100);
  EXPECT_EQ(Prepare(request)->why, "restarted from step 100");
  EXPECT_EQ(Prepare(request)->first_step, std::optional<int64_t>(100));
  request.set_from_step(-1);
  EXPECT_EQ(Prepare(request)->why, "restarted from the start");
  request.set_from_step(-2);
  EXPECT_EQ(Refusal(request), "from_step: there is no step -2");
}

TEST_F(PrepareLegTest, AForkWithoutACheckpointOfItsOwnIsAtTheStepOfItsParent) {
  Submission fork = *run_.submission;
  fork.resolved.replace(fork.resolved.find("init_from: scratch"), 18, "init_from: /c");
  fork.resolved.replace(fork.resolved.find("init_data: reset"), 16, "init_data: keep");
  fork.parent_run = "p";
  fork.parent_step = 250;
  fork.parent_tokens = 50 * fork.target_tokens;
  fork.keeps_data_position = true;
  run_.submission = std::make_shared<const Submission>(fork);
  run_.checkpoints.clear();
  run_.state = RunState::kFailed;
  const auto leg = Prepare({});
  ASSERT_TRUE(leg.ok()) << leg.status();
  EXPECT_TRUE(leg->submission.keeps_data_position);
  EXPECT_EQ(leg->submission.parent_tokens, fork.parent_tokens);
  EXPECT_GT(leg->submission.target_tokens, fork.parent_tokens) << "they count with the parent's";
  EXPECT_NE(Refusal(Steps(250)).find("run 'base' is at step 250"), std::string::npos);
}

TEST(ContinueBodyDigest, ChangesWithEveryFieldButTheIdTheRunAndTheDryRun) {
  v1::ContinueRequest request;
  testing::SetEveryField(request);
  const std::string digest = BodyDigest(request);
  EXPECT_EQ(digest.size(), 64u);
  const auto* descriptor = v1::ContinueRequest::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (!field->is_repeated() && !request.GetReflection()->HasField(request, field)) continue;
    v1::ContinueRequest other = request;
    other.GetReflection()->ClearField(&other, field);
    const bool same =
        field->name() == "request_id" || field->name() == "run" || field->name() == "dry_run";
    EXPECT_EQ(BodyDigest(other) == digest, same) << field->name();
  }
}

class PrepareTimedLegTest : public PrepareLegTest {
 protected:
  PrepareTimedLegTest() : PrepareLegTest("budget: {wall_time: 2m}\n") {
    progress_.newest = contract::TrainingPoint{.step = 300, .target_steps = 300};
  }
};

TEST_F(PrepareTimedLegTest, StepsReplaceTheWallTimeAndItsMeasuredStepsAreTheHorizon) {
  const auto leg = Prepare(Steps(500));
  ASSERT_TRUE(leg.ok()) << leg.status();
  EXPECT_EQ(leg->submission.target_steps, 500);
  EXPECT_NE(leg->submission.resolved.find("decay_steps: 300"), std::string::npos);
  EXPECT_NE(leg->submission.resolved.find("wall_time: 0s"), std::string::npos);
}

}  // namespace
}  // namespace gp::coordinator
