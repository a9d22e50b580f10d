// Real gp-trainer processes, driven through their links as an agent would.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <regex>

#include "base/eventually.h"
#include "base/exit_code.h"
#include "formats/checkpoint_directory.h"
#include "runspec/model_shape.h"
#include "runspec/run_file.h"
#include "worker/engine/backend/cpu/tuned_choices.h"
#include "worker/engine/trainer/test_epoch.h"
#include "worker/engine/trainer/trainer_process.h"

namespace gp::engine {
namespace {

constexpr int64_t kSteps = 16;
constexpr uint64_t kEpoch = 4;

// Of TinyRunFile and TinyText.
runspec::ModelShape TinyShape() {
  return {.layers = 2,
          .heads = 2,
          .channels = 24,
          .context = 16,
          .vocabulary = 22,
          .vocabulary_padded = 22};
}

std::vector<link::WrittenCheckpoint> TrainWhole(const ScopedDirectory& directory, int world_size,
                                                int64_t steps = kSteps) {
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, world_size, kEpoch);
  epoch.Form(TinyRunFile(text, steps, 6));
  epoch.Go();
  return epoch.Finish();
}

TEST(LinkedTraining, TwoRanksTrainToASealedCheckpoint) {
  const ScopedDirectory directory;
  const auto written = TrainWhole(directory, 2);
  ASSERT_EQ(written.size(), 3u);
  EXPECT_EQ(written[0].step, 6);
  EXPECT_FALSE(written[0].final);
  const link::WrittenCheckpoint& last = written.back();
  EXPECT_EQ(last.step, kSteps);
  EXPECT_EQ(last.epoch, kEpoch);
  EXPECT_TRUE(last.final);
  EXPECT_TRUE(last.validation_loss.has_value());
  EXPECT_EQ(BaseNameOf(last.directory), "step-00000016-e4-i0");
  EXPECT_TRUE(formats::VerifyCheckpoint(last.directory, last.manifest_digest).ok());
  const auto metrics = ReadFile(directory.Path("run/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), kSteps);
}

TEST(LinkedTraining, TheFilesAreEqualForEveryNumberOfRanksAndAfterAResume) {
  const ScopedDirectory one;
  const auto alone = TrainWhole(one, 1);
  ASSERT_FALSE(alone.empty());
  const std::string expected = ModelBytes(alone.back().directory);
  const ScopedDirectory three;
  EXPECT_TRUE(ModelBytes(TrainWhole(three, 3).back().directory) == expected);

  // Two other ranks go on from the checkpoint of step 6, in the directory of the finished run.
  TestEpoch resumed(one, 2, kEpoch + 1,
                    link::ResumePoint{6, alone[0].directory, alone[0].manifest_digest});
  resumed.Form(TinyRunFile(one.Path("text.txt"), kSteps, 6));
  resumed.Go();
  const auto written = resumed.Finish();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);
  const auto metrics = ReadFile(one.Path("run/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), kSteps)
      << "records of steps that are taken again must be dropped";
}

TEST(LinkedTraining, ReportsEveryStepWithPhasesThatAddUp) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Form(TinyRunFile(text, kSteps, 0));
  epoch.Go();
  for (int64_t step = 1; step <= kSteps; ++step) {
    const auto report = epoch.ranks[0]->Await<link::StepReport>();
    EXPECT_EQ(report.step, step);
    EXPECT_EQ(report.tokens, step * 256);
    EXPECT_EQ(report.validation_loss.has_value(), step % 8 == 0);
    EXPECT_EQ(report.target_steps, kSteps);
    EXPECT_FALSE(report.warning.has_value()) << *report.warning;
    EXPECT_EQ(report.peak_source, "measured");
    EXPECT_NEAR(report.mfu * report.peak_flops.value_or(0) /
                    runspec::TrainingFlopsPerToken(TinyShape(), 16),
                report.tokens_per_second, 1e-6 * report.tokens_per_second);
    const link::Phases& p = report.phases;
    EXPECT_NEAR(p.data_wait + p.forward + p.backward + p.allreduce_exposed + p.optimizer + p.other,
                report.step_seconds, 1e-9);
  }
  epoch.Finish();
}

TEST(LinkedTraining, RanksAgreeOnAnAutomaticMicroBatchAndKeepItInLaterEpochs) {
  const auto file = [](const ScopedDirectory& directory, const std::string& rows) {
    std::string text = TinyRunFile(directory.Write("text.txt", TinyText()), kSteps, 6);
    const std::string fixed = "micro_batch: 2";
    return text.replace(text.find(fixed), fixed.size(), "micro_batch: " + rows);
  };
  const auto train = [&](const ScopedDirectory& directory, const std::string& rows, int ranks) {
    TestEpoch epoch(directory, ranks, kEpoch);
    epoch.Form(file(directory, rows));
    epoch.Go();
    return epoch.Finish();
  };
  const ScopedDirectory fixed, automatic;
  const std::string expected = ModelBytes(train(fixed, "4", 1).back().directory);
  const auto written = train(automatic, "auto", 2);
  ASSERT_FALSE(written.empty());
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);

  TestEpoch resumed(automatic, 3, kEpoch + 1,
                    link::ResumePoint{6, written[0].directory, written[0].manifest_digest});
  resumed.Form(file(automatic, "auto"));
  resumed.Go();
  EXPECT_TRUE(ModelBytes(resumed.Finish().back().directory) == expected);
}

TEST(LinkedTraining, EveryRankStopsEarlyAtTheSameStepAndSaysWhy) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kEpoch);
  std::string file = TinyRunFile(text, 1000, 0);
  const std::string eval = "eval: {every: 8, batches: 4}";
  file.replace(file.find(eval), eval.size(),
               "eval: {every: 2, batches: 4, patience: 1, min_delta: 100}");
  epoch.Form(file);
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].step, 2) << "the best one is saved when it is found";
  EXPECT_FALSE(written[0].end_reason.has_value());
  EXPECT_EQ(written[1].step, 4);
  EXPECT_TRUE(written[1].final);
  EXPECT_NE(written[1].end_reason.value_or("").find("stopped early: 1 evaluation"),
            std::string::npos);
}

TEST(LinkedTraining, ARankThatLosesItsPeerNamesItAndEndsWithACollectiveFailure) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.ranks[1]->Signal(SIGKILL);
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, link::ExitCause::kCollective);
  EXPECT_NE(failed.message.find("rank 1"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kCollective));
}

TEST(LinkedTraining, StopEndsRanksThatTrainAndRanksThatWait) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  for (auto& rank : epoch.ranks) rank->Send(link::Stop{.reason = "cancelled"});
  for (auto& rank : epoch.ranks) EXPECT_EQ(rank->Wait(), 0);

  TestEpoch waiting(directory, 1, kEpoch + 1);
  waiting.Start(TinyRunFile(text, kSteps, 0));
  waiting.ranks[0]->Await<link::Listening>();
  waiting.ranks[0]->Send(link::Stop{.reason = "cancelled"});
  EXPECT_EQ(waiting.ranks[0]->Wait(), 0);
}

constexpr int64_t kLongSave = 60'000;

// The messages of the ranks from the stop until they exited.
struct LastWords {
  std::vector<link::WrittenCheckpoint> written;
  std::vector<int64_t> last_steps;  // by rank; -1: it did not say that it stopped
  std::vector<std::string> reasons;
};

// Seals what is written, until every rank has left with status 0.
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

link::ResumePoint PointOf(const link::WrittenCheckpoint& written) {
  return {written.step, written.directory, written.manifest_digest};
}

TEST(LinkedTraining, AStopSavesTheLastStepOfAllRanksAndTheRunGoesOnAsIfItHadNotStopped) {
  constexpr int64_t kManySteps = 1000;
  const ScopedDirectory whole;
  const std::string expected = ModelBytes(TrainWhole(whole, 1, kManySteps).back().directory);
  for (const int ranks : {1, 3}) {
    const ScopedDirectory directory;
    const std::string text = directory.Write("text.txt", TinyText());
    TestEpoch epoch(directory, ranks, kEpoch);
    epoch.Form(TinyRunFile(text, kManySteps, 0));
    epoch.Go();
    epoch.ranks[0]->Await<link::StepReport>();
    for (auto& rank : epoch.ranks) rank->Send(link::Stop{"cancelled", kLongSave});
    const LastWords words = ListenToTheEnd(epoch);
    ASSERT_EQ(words.written.size(), 1u);
    EXPECT_FALSE(words.written[0].final) << "it ended before it heard of the stop";
    const int64_t step = words.written[0].step;
    EXPECT_EQ(words.last_steps, std::vector<int64_t>(static_cast<size_t>(ranks), step));

    TestEpoch resumed(directory, ranks, kEpoch + 1, PointOf(words.written[0]));
    resumed.Form(TinyRunFile(text, kManySteps, 0));
    resumed.Go();
    EXPECT_EQ(resumed.ranks[0]->Await<link::StepReport>().step, step + 1);
    EXPECT_TRUE(ModelBytes(resumed.Finish().back().directory) == expected);
  }
}

TEST(LinkedTraining, ASignalToOneRankEndsAllOfThemAfterTheSameStep) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 3, kEpoch);
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

TEST(LinkedTraining, AStopWithoutTimeToSaveSavesNothing) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  for (auto& rank : epoch.ranks) rank->Send(link::Stop{.reason = "cancelled"});
  EXPECT_TRUE(ListenToTheEnd(epoch).written.empty());
}

// A run whose first evaluation goes over 62,500 batches, which takes minutes.
std::string LongEvaluationRunFile(const ScopedDirectory& directory, const std::string& eval) {
  std::string text;
  while (text.size() < 20'000'000) text += TinyText();
  std::string file = TinyRunFile(directory.Write("text.txt", text), 1000, 0);
  const std::string old_eval = "eval: {every: 8, batches: 4}";
  file.replace(file.find(old_eval), old_eval.size(), eval);
  const std::string width = "n_embd: 24";
  return file.replace(file.find(width), width.size(), "n_embd: 192");
}

// Sends the stop when the first step is done and its evaluation is not.
LastWords StopInTheFirstEvaluation(TestEpoch& epoch) {
  // Nothing goes over the link between the step and its evaluation.
  EXPECT_TRUE(Eventually([&] {
    const auto log = ReadFile(epoch.Log(0));
    return log.ok() && log->find("first step") != std::string::npos;
  }));
  epoch.ranks[0]->Send(link::Stop{"cancelled", 8000});
  return ListenToTheEnd(epoch);
}

TEST(LinkedTraining, AnEvaluationThatTakesTooLongIsBrokenOffAndItsStepIsSavedAndReported) {
  const ScopedDirectory directory;
  TestEpoch epoch(directory, 1, kEpoch, {}, {}, LogTo::kFile);
  epoch.Form(LongEvaluationRunFile(directory, "eval: {every: 1, batches: 1000000}"));
  epoch.Go();
  const LastWords words = StopInTheFirstEvaluation(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.written[0].step, 1);
  EXPECT_EQ(words.last_steps, std::vector<int64_t>{1});
  const auto metrics = ReadFile(directory.Path("run/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), 1);
}

// With the evaluation of step 1 the second one shows no gain, and the run ends after step 2.
TEST(LinkedTraining, AnEvaluationThatWasBrokenOffIsMadeUpForBeforeAnEarlyStopIsDecided) {
  const ScopedDirectory directory;
  TestEpoch epoch(directory, 1, kEpoch, {}, {}, LogTo::kFile);
  const std::string eval = "eval: {every: 1, batches: 1000000, patience: 1, min_delta: 100}";
  std::string file = LongEvaluationRunFile(directory, eval);
  epoch.Form(file);
  epoch.Go();
  const LastWords words = StopInTheFirstEvaluation(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.written[0].step, 1);

  file.replace(file.find("1000000"), 7, "4");
  TestEpoch resumed(directory, 1, kEpoch + 1, PointOf(words.written[0]));
  resumed.Form(file);
  resumed.Go();
  const auto written = resumed.Finish();
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.back().step, 2);
  EXPECT_TRUE(written.back().final);
}

// A step of minutes, of which a stop leaves seconds.
TEST(LinkedTraining, AStepThatTakesTooLongIsBrokenOffAndTheOneBeforeItIsSaved) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch);
  std::string file = TinyRunFile(text, 1000, 0);
  const std::string batch = "total_tokens: 256";
  file.replace(file.find(batch), batch.size(),
               "total_tokens: 33554432, ramp_from_tokens: 128, ramp_steps: 2");
  epoch.Form(file);
  epoch.Go();
  ASSERT_EQ(epoch.ranks[0]->Await<link::StepReport>().step, 1);
  epoch.ranks[0]->Send(link::Stop{"cancelled", 8000});
  const LastWords words = ListenToTheEnd(epoch);
  ASSERT_EQ(words.written.size(), 1u);
  EXPECT_EQ(words.written[0].step, 1);
  EXPECT_EQ(words.last_steps, std::vector<int64_t>{1});
}

// A file where the directory should be: no checkpoint can be written, by nobody.
TEST(LinkedTraining, AFinalSaveThatFailsIsTriedAgainUntilItSucceeds) {
  const ScopedDirectory whole;
  const std::string expected = ModelBytes(TrainWhole(whole, 1).back().directory);
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  ASSERT_TRUE(MakeDirectories(directory.Path("run")).ok());
  const std::string obstacle = directory.Write("run/checkpoints", "in the way");
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Form(TinyRunFile(text, kSteps, 0));
  epoch.Go();
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto waiting = epoch.ranks[0]->Await<link::Waiting>();
    EXPECT_EQ(waiting.epoch, kEpoch);
    EXPECT_NE(waiting.reason.find("not a directory"), std::string::npos) << waiting.reason;
  }
  ASSERT_TRUE(RemoveTree(obstacle).ok());
  while (!epoch.ranks[0]->Await<link::Waiting>().reason.empty()) continue;
  const auto written = epoch.Finish();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_TRUE(written[0].final);
  EXPECT_TRUE(ModelBytes(written[0].directory) == expected);
}

TEST(LinkedTraining, WhoWaitsToSaveLeavesWhenThereIsNoTimeLeft) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  ASSERT_TRUE(MakeDirectories(directory.Path("run")).ok());
  directory.Write("run/checkpoints", "in the way");
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Form(TinyRunFile(text, kSteps, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::Waiting>();
  epoch.ranks[0]->Send(link::Stop{"cancelled", kLongSave});
  epoch.ranks[0]->Await<link::Waiting>();
  epoch.ranks[0]->Send(link::Stop{.reason = "cancelled at once"});
  const LastWords words = ListenToTheEnd(epoch);
  EXPECT_TRUE(words.written.empty());
  EXPECT_EQ(words.last_steps, std::vector<int64_t>{kSteps});
}

TEST(LinkedTraining, TheEndOfTheLinkEndsTheProcess) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.ranks[0]->CloseLink();
  EXPECT_EQ(epoch.ranks[0]->Wait(), 1);
}

TEST(LinkedTraining, AFencedRankSaysHowFarItCameAndExits) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  const int64_t step = epoch.ranks[0]->Await<link::StepReport>().step;
  epoch.ranks[0]->Send(link::Fence{.epoch = kEpoch + 1});
  const auto fenced = epoch.ranks[0]->Await<link::Fenced>();
  EXPECT_EQ(fenced.epoch, kEpoch + 1);
  EXPECT_GE(fenced.committed_step, step);
  EXPECT_EQ(epoch.ranks[0]->Wait(), 86);
}

TEST(LinkedTraining, MissingDataIsAConfigurationFailureThatNamesThePath) {
  const ScopedDirectory directory;
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Start(TinyRunFile(directory.Path("absent.txt"), kSteps, 0));
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, link::ExitCause::kConfig);
  EXPECT_NE(failed.message.find("absent.txt"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), 2);
}

TEST(LinkedTraining, ADamagedCheckpointIsAFailureOfItsOwnThatNamesTheFile) {
  const ScopedDirectory directory;
  const auto written = TrainWhole(directory, 1);
  ASSERT_FALSE(written.empty());
  const std::string model = JoinPath(written[0].directory, "model.safetensors");
  std::string bytes = ModelBytes(written[0].directory);
  bytes[bytes.size() - 5] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(model, bytes).ok());
  TestEpoch epoch(directory, 1, kEpoch + 1,
                  link::ResumePoint{6, written[0].directory, written[0].manifest_digest});
  epoch.Start(TinyRunFile(directory.Path("text.txt"), kSteps, 6));
  const std::string address = epoch.ranks[0]->Await<link::Listening>().address;
  epoch.ranks[0]->Send(
      link::Configure{.epoch = kEpoch + 1, .addresses = {address}, .secret = "secret"});
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, link::ExitCause::kDamagedCheckpoint);
  EXPECT_NE(failed.message.find("model.safetensors"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kDamaged));
}

TEST(LinkedTraining, ACheckpointThatOnlyOneRankMissesIsNotDamaged) {
  const ScopedDirectory directory;
  const auto written = TrainWhole(directory, 1);
  ASSERT_FALSE(written.empty());
  const link::ResumePoint resume{6, written[0].directory, written[0].manifest_digest};
  TestEpoch epoch(directory, 2, kEpoch + 1, resume);
  epoch.resumes[1] = {6, written[0].directory + "-not-there-yet", written[0].manifest_digest};
  epoch.Start(TinyRunFile(directory.Path("text.txt"), kSteps, 6));
  epoch.Configure();
  const auto failed = epoch.ranks[1]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, link::ExitCause::kStorage);
  EXPECT_NE(failed.message.find("another rank sees it"), std::string::npos) << failed.message;
}

// A cache directory in which something was tuned for the fastest level of this machine, for one
// thread.
std::string TunedCache(const ScopedDirectory& directory, const std::string& name, int columns) {
  const std::string cache = directory.Path(name);
  KernelChoices choices;
  for (const GemmProblem& problem :
       ProblemsOf({.rows = 32, .in = 24, .out = 72}, DataType::kFloat32)) {
    choices.Set(problem, {.packed = PackedOperand::kFirst, .depth = 32, .columns = columns});
  }
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  WriteTunedChoices(choices, BestIsa(), 1);
  unsetenv("XDG_CACHE_HOME");
  return "XDG_CACHE_HOME=" + cache;
}

// What a rank's log says that it computes with.
std::string ChoicesInForce(const std::string& log) {
  const auto text = ReadFile(log);
  EXPECT_TRUE(text.ok()) << text.status();
  std::smatch found;
  const std::string content = text.ok() ? *text : "";
  EXPECT_TRUE(std::regex_search(content, found, std::regex("choices[\"=: ]+(\\w+)"))) << content;
  return found.empty() ? "" : found[1].str();
}

TEST(LinkedTraining, RanksThatWereTunedDifferentlyComputeWithRank0sChoices) {
  const ScopedDirectory one;
  const std::string expected = ModelBytes(TrainWhole(one, 1).back().directory);
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kEpoch, {},
                  {TunedCache(directory, "a", 48), TunedCache(directory, "b", 96)}, LogTo::kFile);
  epoch.decide = [](const std::vector<link::Listening>& offers, link::Configure& configure) {
    configure.isa = offers[0].isa_levels->front();
    EXPECT_NE(offers[0].kernels->at(*configure.isa), offers[1].kernels->at(*configure.isa));
    configure.kernels = offers[0].kernels;
  };
  epoch.Form(TinyRunFile(text, kSteps, 6));
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_FALSE(written.empty());
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);
  const auto manifest = formats::ReadManifest(written.back().directory);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->record.at("kernels"), epoch.offers[0].kernels->at(IsaName(BestIsa())));
  const std::string choices = ChoicesInForce(epoch.Log(0));
  EXPECT_NE(choices, "default");
  EXPECT_EQ(ChoicesInForce(epoch.Log(1)), choices);
}

TEST(LinkedTraining, AGroupWithASlowerRankComputesWithItsLevelEverywhere) {
  const auto train = [](const ScopedDirectory& directory,
                        const std::vector<std::string>& variables) {
    const std::string text = directory.Write("text.txt", TinyText());
    TestEpoch epoch(directory, static_cast<int>(variables.size()), kEpoch, {}, variables);
    epoch.decide = [](const std::vector<link::Listening>& offers, link::Configure& configure) {
      EXPECT_EQ(*offers.back().isa_levels, std::vector<std::string>{"generic"});
      configure.isa = "generic";
    };
    epoch.Form(TinyRunFile(text, kSteps, 6));
    epoch.Go();
    return epoch.Finish();
  };
  const ScopedDirectory one;
  const ScopedDirectory two;
  const auto alone = train(one, {"GP_ISA_MAX=generic"});
  const auto together = train(two, {"", "GP_ISA_MAX=generic"});
  ASSERT_FALSE(together.empty());
  EXPECT_TRUE(ModelBytes(together.back().directory) == ModelBytes(alone.back().directory));
  EXPECT_EQ(formats::ReadManifest(together.back().directory)->record.at("isa"), "generic");
}

TEST(LinkedTraining, ChoicesThatWerePassedOverAreNotRecorded) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.decide = [](const std::vector<link::Listening>&, link::Configure& configure) {
    configure.isa = "generic";
    configure.kernels.emplace()["generic"] = "no choices at all";
  };
  epoch.Form(TinyRunFile(text, kSteps, 0) + "deterministic: false\n");
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_FALSE(written.empty());
  const auto manifest = formats::ReadManifest(written.back().directory);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->record.at("isa"), "generic");
  EXPECT_FALSE(manifest->record.contains("kernels"));
}

TEST(LinkedTraining, ARankThatLacksTheRunsLevelIsUnfit) {
  if (!IsaSupported(Isa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch, {}, {"GP_ISA_MAX=generic"});
  epoch.isa = "avx2";
  epoch.Start(TinyRunFile(text, kSteps, 0));
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, link::ExitCause::kUnfit);
  EXPECT_NE(failed.message.find("avx2 kernels, here are generic"), std::string::npos)
      << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), 1);
}

TEST(LinkedTraining, WithoutDeterminismOnlyARankWithoutPeersTakesAnotherLevel) {
  if (!IsaSupported(Isa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  const ScopedDirectory directory;
  const std::string file =
      TinyRunFile(directory.Write("text.txt", TinyText()), kSteps, 0) + "deterministic: false\n";
  TestEpoch alone(directory, 1, kEpoch, {}, {"GP_ISA_MAX=generic"});
  alone.isa = "avx2";
  alone.Form(file);

  TestEpoch together(directory, 2, kEpoch + 1, {}, {"", "GP_ISA_MAX=generic"});
  together.isa = "avx2";
  together.Start(file);
  EXPECT_EQ(together.ranks[1]->Await<link::Failed>().cause, link::ExitCause::kUnfit);
}

TEST(LinkedTraining, AFinalCheckpointThatIsRefusedIsAFailure) {
  const ScopedDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kEpoch);
  epoch.Form(TinyRunFile(text, 2, 0));
  epoch.Go();
  const auto written = epoch.ranks[0]->Await<link::WrittenCheckpoint>();
  epoch.ranks[0]->Await<link::Finished>();
  epoch.ranks[0]->Send(link::SealResult{written.step, false, "the epoch is stale"});
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_NE(failed.message.find("the epoch is stale"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kStorage));
}

}  // namespace
}  // namespace gp::engine
