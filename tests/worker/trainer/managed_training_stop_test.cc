// Goal: stopping real gp-trainer processes by a message or a signal loses no completed step.
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/eventually.h"
#include "worker/trainer/test_epoch.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

TEST(LinkedTrainingStop, StopEndsRanksThatTrainAndRanksThatWait) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kTinyEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.Stop({.reason = "cancelled"});
  for (auto& rank : epoch.ranks) EXPECT_EQ(rank->Wait(), 0);

  TestEpoch waiting(directory, 1, kTinyEpoch + 1);
  waiting.Start(TinyRunFile(text, kTinySteps, 0));
  waiting.ranks[0]->Await<link::Listening>();
  waiting.ranks[0]->Send(link::Stop{.reason = "cancelled"});
  EXPECT_EQ(waiting.ranks[0]->Wait(), 0);
}

constexpr int64_t kLongSave = 60'000;

// What the ranks sent between the stop and their exit.
struct LastWords {
  std::vector<link::CheckpointReport> written;
  std::vector<int64_t> last_steps;  // by rank; -1: it did not report a stop
  std::vector<std::string> reasons;
};

// Seals every checkpoint; waits until every rank has exited with status 0.
LastWords ListenToTheEnd(TestEpoch& epoch) {
  const size_t count = epoch.ranks.size();
  LastWords words{.last_steps = std::vector<int64_t>(count, -1),
                  .reasons = std::vector<std::string>(count)};
  words.written = epoch.Finish([&](size_t rank, const link::Message& message) {
    if (const auto* stopped = std::get_if<link::Stopped>(&message)) {
      words.last_steps[rank] = stopped->step;
      words.reasons[rank] = stopped->reason;
    }
  });
  return words;
}

TEST(LinkedTrainingStop, AStopSavesTheLastStepOfAllRanksAndTheRunGoesOnAsIfItHadNotStopped) {
  constexpr int64_t kManySteps = 1000;
  const TemporaryDirectory whole;
  const std::string expected = ModelBytes(TrainWhole(whole, 1, kManySteps).back().directory);
  for (const int ranks : {1, 3}) {
    const TemporaryDirectory directory;
    const std::string text = directory.Write("text.txt", TinyText());
    TestEpoch epoch(directory, ranks, kTinyEpoch);
    epoch.Form(TinyRunFile(text, kManySteps, 0));
    epoch.Go();
    epoch.ranks[0]->Await<link::StepReport>();
    epoch.Stop({"cancelled", kLongSave});
    const LastWords words = ListenToTheEnd(epoch);
    ASSERT_EQ(words.written.size(), 1u);
    EXPECT_FALSE(words.written[0].final) << "it ended before it heard of the stop";
    const int64_t step = words.written[0].step;
    EXPECT_EQ(words.last_steps, std::vector<int64_t>(static_cast<size_t>(ranks), step));

    TestEpoch resumed(directory, ranks, kTinyEpoch + 1, PointOf(words.written[0]));
    resumed.Form(TinyRunFile(text, kManySteps, 0));
    resumed.Go();
    EXPECT_EQ(resumed.ranks[0]->Await<link::StepReport>().point.step, step + 1);
    EXPECT_TRUE(ModelBytes(resumed.Finish().back().directory) == expected);
  }
}

TEST(LinkedTrainingStop, ASignalToOneRankEndsAllOfThemAfterTheSameStep) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 3, kTinyEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.ranks[2]->Signal(SIGTERM);
  const LastWords words = ListenToTheEnd(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.last_steps, std::vector<int64_t>(3, words.written[0].step));
  EXPECT_EQ(words.reasons,
            (std::vector<std::string>{"a peer was stopped", "a peer was stopped", "SIGTERM"}));
}

TEST(LinkedTrainingStop, AStopWithoutTimeToSaveSavesNothing) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kTinyEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.Stop({.reason = "cancelled"});
  EXPECT_TRUE(ListenToTheEnd(epoch).written.empty());
}

// A run whose first evaluation takes 62,500 batches, that is, minutes.
std::string LongEvaluationRunFile(const TemporaryDirectory& directory, const std::string& eval) {
  std::string text;
  while (text.size() < 20'000'000) text += TinyText();
  const std::string file = TinyRunFile(directory.Write("text.txt", text), 1000, 0);
  return Replaced(Replaced(file, "eval: {every: 8, batches: 4}", eval), "n_embd: 24",
                  "n_embd: 192");
}

// Sends the stop after the first step, during its evaluation.
LastWords StopInTheFirstEvaluation(TestEpoch& epoch) {
  // Watch the log, because nothing is sent over the link between the step and its evaluation.
  EXPECT_TRUE(Eventually([&] {
    const auto log = ReadFile(epoch.Log(0));
    return log.ok() && log->find("first step") != std::string::npos;
  }));
  epoch.ranks[0]->Send(link::Stop{"cancelled", 8000});
  return ListenToTheEnd(epoch);
}

TEST(LinkedTrainingStop, AnEvaluationThatTakesTooLongIsBrokenOffAndItsStepIsSavedAndReported) {
  const TemporaryDirectory directory;
  TestEpoch epoch(directory, 1, kTinyEpoch, {}, {}, LogTo::kFile);
  epoch.Form(LongEvaluationRunFile(directory, "eval: {every: 1, batches: 1000000}"));
  epoch.Go();
  const LastWords words = StopInTheFirstEvaluation(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.written[0].step, 1);
  EXPECT_EQ(words.last_steps, std::vector<int64_t>{1});
  const auto metrics = ReadFile(directory.File("run/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), 1);
}

// The resumed run first evaluates step 1. The evaluation of step 2 then shows no gain, so the run
// ends there; without the evaluation of step 1 it would end after step 3.
TEST(LinkedTrainingStop, AnEvaluationThatWasBrokenOffIsMadeUpForBeforeAnEarlyStopIsDecided) {
  const TemporaryDirectory directory;
  TestEpoch epoch(directory, 1, kTinyEpoch, {}, {}, LogTo::kFile);
  const std::string eval = "eval: {every: 1, batches: 1000000, patience: 1, min_delta: 100}";
  const std::string file = LongEvaluationRunFile(directory, eval);
  epoch.Form(file);
  epoch.Go();
  const LastWords words = StopInTheFirstEvaluation(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.written[0].step, 1);

  TestEpoch resumed(directory, 1, kTinyEpoch + 1, PointOf(words.written[0]));
  resumed.Form(Replaced(file, "1000000", "4"));
  resumed.Go();
  const auto written = resumed.Finish();
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.back().step, 2);
  EXPECT_TRUE(written.back().final);
}

// A step that would take minutes is stopped within seconds.
TEST(LinkedTrainingStop, AStepThatTakesTooLongIsBrokenOffAndTheOneBeforeItIsSaved) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Form(Replaced(TinyRunFile(text, 1000, 0), "total_tokens: 256",
                      "total_tokens: 33554432, ramp_from_tokens: 128, ramp_steps: 2"));
  epoch.Go();
  ASSERT_EQ(epoch.ranks[0]->Await<link::StepReport>().point.step, 1);
  epoch.ranks[0]->Send(link::Stop{"cancelled", 8000});
  const LastWords words = ListenToTheEnd(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.written[0].step, 1);
  EXPECT_EQ(words.last_steps, std::vector<int64_t>{1});
}

// A file has the name of the directory, so no checkpoint can be written.
TEST(LinkedTrainingStop, AFinalSaveThatFailsIsTriedAgainUntilItSucceeds) {
  const TemporaryDirectory whole;
  const std::string expected = ModelBytes(TrainWhole(whole, 1).back().directory);
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  ASSERT_TRUE(MakeDirectories(directory.File("run")).ok());
  const std::string obstacle = directory.Write("run/checkpoints", "in the way");
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Form(TinyRunFile(text, kTinySteps, 0));
  epoch.Go();
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto waiting = epoch.ranks[0]->Await<link::Waiting>();
    EXPECT_EQ(waiting.epoch, kTinyEpoch);
    EXPECT_NE(waiting.reason.find("not a directory"), std::string::npos) << waiting.reason;
  }
  ASSERT_TRUE(RemoveTree(obstacle).ok());
  while (!epoch.ranks[0]->Await<link::Waiting>().reason.empty()) continue;
  const auto written = epoch.Finish();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_TRUE(written[0].final);
  EXPECT_TRUE(ModelBytes(written[0].directory) == expected);
}

TEST(LinkedTrainingStop, WhoWaitsToSaveLeavesWhenThereIsNoTimeLeft) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  ASSERT_TRUE(MakeDirectories(directory.File("run")).ok());
  directory.Write("run/checkpoints", "in the way");
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Form(TinyRunFile(text, kTinySteps, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::Waiting>();
  epoch.ranks[0]->Send(link::Stop{"cancelled", kLongSave});
  epoch.ranks[0]->Await<link::Waiting>();
  epoch.ranks[0]->Send(link::Stop{.reason = "cancelled at once"});
  const LastWords words = ListenToTheEnd(epoch);
  EXPECT_TRUE(words.written.empty());
  EXPECT_EQ(words.last_steps, std::vector<int64_t>{kTinySteps});
}

}  // namespace
}  // namespace gp::engine
