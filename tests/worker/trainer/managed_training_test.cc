// Real gp-trainer processes, driven over their links as by an agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "base/exit_code.h"
#include "formats/checkpoint_directory.h"
#include "plan/flops.h"
#include "plan/model_shape.h"
#include "runspec/run_file.h"
#include "storage/local_storage.h"
#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/backend/cpu/tuned_choices.h"
#include "worker/trainer/test_epoch.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

// The model of TinyRunFile, with the vocabulary of TinyText.
runspec::ModelShape TinyShape() {
  return {.layers = 2,
          .heads = 2,
          .channels = 24,
          .context = 16,
          .vocabulary = 22,
          .vocabulary_padded = 22};
}

TEST(ManagedTraining, TwoRanksTrainToASealedCheckpoint) {
  const TemporaryDirectory directory;
  const auto written = TrainWhole(directory, 2);
  ASSERT_EQ(written.size(), 3u);
  EXPECT_EQ(written[0].step, 6);
  EXPECT_FALSE(written[0].final);
  const link::CheckpointReport& last = written.back();
  EXPECT_EQ(last.step, kTinySteps);
  EXPECT_EQ(last.epoch, kTinyEpoch);
  EXPECT_TRUE(last.final);
  EXPECT_TRUE(last.validation_loss.has_value());
  EXPECT_EQ(BaseNameOf(last.directory), "step-00000016-e4-i0");
  EXPECT_TRUE(formats::VerifyCheckpoint(last.directory, last.manifest_digest).ok());
  const auto metrics = ReadFile(directory.File("run/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), kTinySteps);
}

TEST(ManagedTraining, TheFilesAreEqualForEveryNumberOfRanksAndAfterAResume) {
  const TemporaryDirectory one;
  const auto alone = TrainWhole(one, 1);
  ASSERT_FALSE(alone.empty());
  const std::string expected = ModelBytes(alone.back().directory);
  const TemporaryDirectory three;
  EXPECT_TRUE(ModelBytes(TrainWhole(three, 3).back().directory) == expected);

  // Two ranks resume from the checkpoint of step 6 in the finished run's directory.
  TestEpoch resumed(one, 2, kTinyEpoch + 1,
                    contract::ResumePoint{6, alone[0].directory, alone[0].manifest_digest});
  resumed.Form(TinyRunFile(one.File("text.txt"), kTinySteps, 6));
  resumed.Go();
  const auto written = resumed.Finish();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);
  const auto metrics = ReadFile(one.File("run/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), kTinySteps)
      << "records of steps that are taken again must be dropped";
}

// Trains on one rank, on three ranks, and on two that resume from the first run's checkpoint of
// step 6.
void ExpectEqualFilesForEveryNumberOfRanks(const std::string& run_file) {
  const auto train = [&](const TemporaryDirectory& out, int ranks, uint64_t epoch,
                         const std::optional<contract::ResumePoint>& resume = {}) {
    TestEpoch group(out, ranks, epoch, resume);
    group.Form(run_file);
    group.Go();
    return group.Finish();
  };
  const TemporaryDirectory one, three;
  const auto alone = train(one, 1, kTinyEpoch);
  ASSERT_FALSE(alone.empty());
  const std::string expected = ModelBytes(alone.back().directory);
  EXPECT_TRUE(ModelBytes(train(three, 3, kTinyEpoch).back().directory) == expected);
  const auto resumed = train(one, 2, kTinyEpoch + 1, PointOf(alone[0]));
  ASSERT_EQ(resumed.size(), 2u);
  EXPECT_TRUE(ModelBytes(resumed.back().directory) == expected);
}

TEST(ManagedTraining, AStreamGivesEqualFilesForEveryNumberOfRanksAndAfterAResume) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 300; ++i) text += TinyText();  // more than one block
  ExpectEqualFilesForEveryNumberOfRanks(Replaced(
      TinyRunFile("", kTinySteps, 6), "text: [\"\"], tokenizer: chars",
      fmt::format("stream: [\"{}\"], tokenizer: bytes", directory.Write("stream.txt", text))));
}

TEST(ManagedTraining, AMixtureGivesEqualFilesForEveryNumberOfRanksAndAfterAResume) {
  const TemporaryDirectory directory;
  ExpectEqualFilesForEveryNumberOfRanks(Replaced(
      TinyRunFile("", kTinySteps, 6), "text: [\"\"], tokenizer: chars",
      fmt::format("train: [\"{}\", \"{}\"], format: uint16, weights: [1, 4], val: [\"{}\"], "
                  "order: shuffled",
                  directory.Write("a.bin", NanoGptShard(TinyText())),
                  directory.Write("b.bin", NanoGptShard("another text " + TinyText())),
                  directory.Write("val.bin", NanoGptShard(TinyText().substr(0, 500))))));
}

// The scores that rank 0 reported, by step.
using ScoresByStep = std::map<int64_t, std::map<std::string, double>>;

ScoresByStep ScoresOn(int ranks, int questions) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  const std::string quiz = directory.Write("quiz.jsonl", TinyQuestions(questions));
  TestEpoch epoch(directory, ranks, kTinyEpoch);
  epoch.Form(Replaced(TinyRunFile(text, kTinySteps, 0), "eval: {every: 8, batches: 4}",
                      "eval: {every: 8, batches: 4, task_every: 5, tasks: ['" + quiz + "']}"));
  epoch.Go();
  ScoresByStep scores;
  epoch.Finish([&](size_t rank, const link::Message& message) {
    const auto* report = std::get_if<link::StepReport>(&message);
    if (rank == 0 && report != nullptr && !report->point.scores.empty()) {
      scores[report->point.step] = report->point.scores;
    }
  });
  return scores;
}

TEST(ManagedTraining, AsksItsTasksWithTheSameScoresOnOneTwoAndThreeRanks) {
  const ScoresByStep alone = ScoresOn(1, 20);
  ASSERT_EQ(alone.size(), 5u) << "steps 5, 10 and 15 ask, 8 evaluates, 16 is the last";
  EXPECT_EQ(alone.at(5).size(), 2u);
  EXPECT_TRUE(alone.at(5).contains("quiz/completion/acc"));
  EXPECT_TRUE(alone.at(5).contains("quiz/completion/acc_norm"));
  EXPECT_EQ(alone.at(8).size(), 1u);
  EXPECT_GT(alone.at(8).at("val_bpb"), 0);
  EXPECT_EQ(alone.at(16).size(), 3u);
  for (const int ranks : {2, 3}) EXPECT_EQ(ScoresOn(ranks, 20), alone) << ranks << " ranks";
}

TEST(ManagedTraining, AsksFewerQuestionsThanThereAreRanks) {
  EXPECT_EQ(ScoresOn(3, 1), ScoresOn(1, 1));
}

TEST(ManagedTraining, ReportsEveryStepWithPhasesThatAddUp) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Form(TinyRunFile(text, kTinySteps, 0));
  epoch.Go();
  for (int64_t step = 1; step <= kTinySteps; ++step) {
    const contract::TrainingPoint report = epoch.ranks[0]->Await<link::StepReport>().point;
    EXPECT_EQ(report.step, step);
    EXPECT_EQ(report.tokens, step * 256);
    EXPECT_EQ(report.validation_loss.has_value(), step % 8 == 0);
    EXPECT_EQ(report.target_steps, kTinySteps);
    EXPECT_EQ(report.warning, "");
    EXPECT_EQ(report.peak_source, "measured");
    EXPECT_NEAR(report.mfu * report.peak_flops / runspec::TrainingFlopsPerToken(TinyShape(), 16),
                report.tokens_per_second, 1e-6 * report.tokens_per_second);
    const contract::StepPhases& p = report.phases;
    EXPECT_NEAR(p.data_wait + p.forward + p.backward + p.allreduce_exposed + p.optimizer + p.other,
                report.step_seconds, 1e-9);
  }
  epoch.Finish();
}

TEST(ManagedTraining, RanksTellWhatTheyReadWhatTheySummedAndHowLongASaveHeldThemUp) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kTinyEpoch);
  epoch.Form(TinyRunFile(text, kTinySteps, 0));
  epoch.Go();
  int64_t bytes = 0;
  for (int64_t step = 1; step <= kTinySteps; ++step) {
    const auto report = epoch.ranks[1]->Await<link::StepReport>();
    bytes += report.rank.data_read_bytes.value_or(0);
    // This rank's half of 16 rows of 17 tokens (16 and the last target), two bytes each.
    EXPECT_GE(bytes, step * 8 * 17 * 2);
    EXPECT_LE(report.rank.batches_ready.value_or(2), 1);
    EXPECT_GE(report.rank.allreduce_seconds.value_or(-1), report.point.phases.allreduce_exposed);
    EXPECT_GT(report.rank.allreduce_bytes.value_or(0), 0);
  }
  EXPECT_GT(epoch.Finish().back().held_up_seconds.value_or(-1), 0);
}

TEST(ManagedTraining, RanksAgreeOnAnAutomaticMicroBatchAndKeepItInLaterEpochs) {
  const auto file = [](const TemporaryDirectory& directory, const std::string& rows) {
    const std::string text = directory.Write("text.txt", TinyText());
    return Replaced(TinyRunFile(text, kTinySteps, 6), "micro_batch: 2", "micro_batch: " + rows);
  };
  const auto train = [&](const TemporaryDirectory& directory, const std::string& rows, int ranks) {
    TestEpoch epoch(directory, ranks, kTinyEpoch);
    epoch.Form(file(directory, rows));
    epoch.Go();
    return epoch.Finish();
  };
  const TemporaryDirectory fixed, automatic;
  const std::string expected = ModelBytes(train(fixed, "4", 1).back().directory);
  const auto written = train(automatic, "auto", 2);
  ASSERT_FALSE(written.empty());
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);

  TestEpoch resumed(automatic, 3, kTinyEpoch + 1,
                    contract::ResumePoint{6, written[0].directory, written[0].manifest_digest});
  resumed.Form(file(automatic, "auto"));
  resumed.Go();
  EXPECT_TRUE(ModelBytes(resumed.Finish().back().directory) == expected);
}

TEST(ManagedTraining, EveryRankStopsEarlyAtTheSameStepAndSaysWhy) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kTinyEpoch);
  epoch.Form(Replaced(TinyRunFile(text, 1000, 0), "eval: {every: 8, batches: 4}",
                      "eval: {every: 2, batches: 4, patience: 1, min_delta: 100}"));
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].step, 2) << "the best one is saved when it is found";
  EXPECT_EQ(written[0].end_reason, "");
  EXPECT_EQ(written[1].step, 4);
  EXPECT_TRUE(written[1].final);
  EXPECT_NE(written[1].end_reason.find("stopped early: 1 evaluation"), std::string::npos);
}

TEST(ManagedTraining, ARankThatLosesItsPeerNamesItAndEndsWithACollectiveFailure) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kTinyEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.ranks[1]->Signal(SIGKILL);
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kCollective);
  EXPECT_NE(failed.message.find("rank 1"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kCollective));
}

TEST(ManagedTraining, TheEndOfTheLinkEndsTheProcess) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Form(TinyRunFile(text, 1000000, 0));
  epoch.Go();
  epoch.ranks[0]->Await<link::StepReport>();
  epoch.ranks[0]->CloseLink();
  EXPECT_EQ(epoch.ranks[0]->Wait(), 1);
}

TEST(ManagedTraining, MissingDataIsAFailureOfItsOwnThatNamesThePath) {
  const TemporaryDirectory directory;
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Start(TinyRunFile(directory.File("absent.txt"), kTinySteps, 0));
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kData);
  EXPECT_NE(failed.message.find("absent.txt"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), 2);
}

// How a rank fails that resumes after its text was replaced by `text`.
link::Failed FailureWith(const std::string& text) {
  const TemporaryDirectory directory;
  const auto written = TrainWhole(directory, 1);
  const std::string path = directory.Write("text.txt", text);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(JoinPath(
                                             written[0].directory, formats::kManifestName)) +
                                             std::chrono::seconds(1));
  TestEpoch epoch(directory, 1, kTinyEpoch + 1, PointOf(written[0]));
  epoch.Start(TinyRunFile(path, kTinySteps, 6));
  epoch.Configure();
  return epoch.ranks[0]->Await<link::Failed>();
}

TEST(ManagedTraining, ChangedDataIsToldApartFromMissingDataAndNamesTheFile) {
  for (const std::string& text : {TinyText() + TinyText(), TinyText() + "a new character: ~",
                                  TinyText().substr(0, TinyText().size() / 2)}) {
    const link::Failed failed = FailureWith(text);
    EXPECT_EQ(failed.cause, contract::ExitCause::kData);
    EXPECT_NE(failed.message.find("the run's data has changed"), std::string::npos)
        << failed.message;
    EXPECT_NE(failed.message.find("modified since: "), std::string::npos) << failed.message;
    EXPECT_NE(failed.message.find("text.txt"), std::string::npos) << failed.message;
  }
}

TEST(ManagedTraining, DataThatIsNoGoodIsAConfigurationFailureUnlessTheRunHasTrainedWithIt) {
  const TemporaryDirectory directory;
  for (const std::string text : {"", "x"}) {
    for (const bool begun : {false, true}) {
      TestEpoch epoch(directory, 1, kTinyEpoch);
      epoch.begun = begun;
      epoch.Start(TinyRunFile(directory.Write("text.txt", text), kTinySteps, 0));
      EXPECT_EQ(epoch.ranks[0]->Await<link::Failed>().cause,
                begun ? contract::ExitCause::kData : contract::ExitCause::kConfig)
          << "'" << text << "'";
    }
  }
}

TEST(ManagedTraining, ADamagedCheckpointIsAFailureOfItsOwnThatNamesTheFile) {
  const TemporaryDirectory directory;
  const auto written = TrainWhole(directory, 1);
  ASSERT_FALSE(written.empty());
  const std::string model = JoinPath(written[0].directory, "model.safetensors");
  std::string bytes = ModelBytes(written[0].directory);
  bytes[bytes.size() - 5] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(model, bytes).ok());
  TestEpoch epoch(directory, 1, kTinyEpoch + 1,
                  contract::ResumePoint{6, written[0].directory, written[0].manifest_digest});
  epoch.Start(TinyRunFile(directory.File("text.txt"), kTinySteps, 6));
  const std::string address = epoch.ranks[0]->Await<link::Listening>().address;
  epoch.ranks[0]->Send(
      link::Configure{.epoch = kTinyEpoch + 1, .addresses = {address}, .secret = "secret"});
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kDamagedCheckpoint);
  EXPECT_NE(failed.message.find("model.safetensors"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kDamaged));
}

TEST(ManagedTraining, ACheckpointThatOnlyOneRankMissesIsNotDamaged) {
  const TemporaryDirectory directory;
  const auto written = TrainWhole(directory, 1);
  ASSERT_FALSE(written.empty());
  const contract::ResumePoint resume{6, written[0].directory, written[0].manifest_digest};
  TestEpoch epoch(directory, 2, kTinyEpoch + 1, resume);
  epoch.resumes[1] = {6, written[0].directory + "-not-there-yet", written[0].manifest_digest};
  epoch.Start(TinyRunFile(directory.File("text.txt"), kTinySteps, 6));
  epoch.Configure();
  const auto failed = epoch.ranks[1]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kStorage);
  EXPECT_NE(failed.message.find("another rank sees it"), std::string::npos) << failed.message;
}

// A cache directory with tuned kernels for this machine's fastest instruction set, for one thread.
std::string TunedCache(const TemporaryDirectory& directory, const std::string& name, int columns) {
  const std::string cache = directory.File(name);
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

// The kernel choices in use, according to a rank's log.
std::string ChoicesInForce(const std::string& log) {
  const auto text = ReadFile(log);
  EXPECT_TRUE(text.ok()) << text.status();
  std::smatch found;
  const std::string content = text.ok() ? *text : "";
  EXPECT_TRUE(std::regex_search(content, found, std::regex("choices[\"=: ]+(\\w+)"))) << content;
  return found.empty() ? "" : found[1].str();
}

TEST(ManagedTraining, RanksThatWereTunedDifferentlyComputeWithRank0sChoices) {
  const TemporaryDirectory one;
  const std::string expected = ModelBytes(TrainWhole(one, 1).back().directory);
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 2, kTinyEpoch, {},
                  {TunedCache(directory, "a", 48), TunedCache(directory, "b", 96)}, LogTo::kFile);
  epoch.decide = [](const std::vector<link::Listening>& offers, link::Configure& configure) {
    configure.isa = offers[0].isa_levels->front();
    EXPECT_NE(offers[0].kernels->at(*configure.isa), offers[1].kernels->at(*configure.isa));
    configure.kernels = offers[0].kernels;
  };
  epoch.Form(TinyRunFile(text, kTinySteps, 6));
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_FALSE(written.empty());
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);
  const auto manifest = formats::ReadManifest(LocalStorage(), written.back().directory);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->record.kernels, epoch.offers[0].kernels->at(IsaName(BestIsa())));
  const std::string choices = ChoicesInForce(epoch.Log(0));
  EXPECT_NE(choices, "default");
  EXPECT_EQ(ChoicesInForce(epoch.Log(1)), choices);
}

TEST(ManagedTraining, AGroupWithASlowerRankComputesWithItsLevelEverywhere) {
  const auto train = [](const TemporaryDirectory& directory,
                        const std::vector<std::string>& variables) {
    const std::string text = directory.Write("text.txt", TinyText());
    TestEpoch epoch(directory, static_cast<int>(variables.size()), kTinyEpoch, {}, variables);
    epoch.decide = [](const std::vector<link::Listening>& offers, link::Configure& configure) {
      EXPECT_EQ(*offers.back().isa_levels, std::vector<std::string>{"generic"});
      configure.isa = "generic";
    };
    epoch.Form(TinyRunFile(text, kTinySteps, 6));
    epoch.Go();
    return epoch.Finish();
  };
  const TemporaryDirectory one;
  const TemporaryDirectory two;
  const auto alone = train(one, {"GP_ISA_MAX=generic"});
  const auto together = train(two, {"", "GP_ISA_MAX=generic"});
  ASSERT_FALSE(together.empty());
  EXPECT_TRUE(ModelBytes(together.back().directory) == ModelBytes(alone.back().directory));
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), together.back().directory)->record.isa,
            "generic");
}

TEST(ManagedTraining, ChoicesThatWerePassedOverAreNotRecorded) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.decide = [](const std::vector<link::Listening>&, link::Configure& configure) {
    configure.isa = "generic";
    configure.kernels.emplace()["generic"] = "no choices at all";
  };
  epoch.Form(TinyRunFile(text, kTinySteps, 0) + "deterministic: false\n");
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_FALSE(written.empty());
  const auto manifest = formats::ReadManifest(LocalStorage(), written.back().directory);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->record.isa, "generic");
  EXPECT_EQ(manifest->record.kernels, std::nullopt);
}

TEST(ManagedTraining, ARankThatLacksTheRunsLevelIsUnfit) {
  if (!IsaSupported(Isa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kTinyEpoch, {}, {"GP_ISA_MAX=generic"});
  epoch.isa = "avx2";
  epoch.Start(TinyRunFile(text, kTinySteps, 0));
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kUnfit);
  EXPECT_NE(failed.message.find("avx2 kernels, but this machine has at most generic"),
            std::string::npos)
      << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), 1);
}

TEST(ManagedTraining, WithoutDeterminismOnlyARankWithoutPeersTakesAnotherLevel) {
  if (!IsaSupported(Isa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  const TemporaryDirectory directory;
  const std::string file = TinyRunFile(directory.Write("text.txt", TinyText()), kTinySteps, 0) +
                           "deterministic: false\n";
  TestEpoch alone(directory, 1, kTinyEpoch, {}, {"GP_ISA_MAX=generic"});
  alone.isa = "avx2";
  alone.Form(file);

  TestEpoch together(directory, 2, kTinyEpoch + 1, {}, {"", "GP_ISA_MAX=generic"});
  together.isa = "avx2";
  together.Start(file);
  EXPECT_EQ(together.ranks[1]->Await<link::Failed>().cause, contract::ExitCause::kUnfit);
}

// A run of level amx in bf16, computed without tile registers unless GP_ISA_MAX is amx.
class AmxRun {
 public:
  AmxRun() : file_(TinyRunFile(directory_.Write("text.txt", TinyText()), kTinySteps, 6)) {
    file_ += "precision: bf16\n";
  }

  std::string ModelAtTheEnd() {
    TestEpoch epoch(directory_, 1, kTinyEpoch, {}, {"GP_ISA_MAX=amx_twin"});
    DecideFirstOffer(epoch);
    epoch.Form(file_);
    epoch.Go();
    return ModelBytes(epoch.Finish().back().directory);
  }

  // Trains until the first checkpoint and is killed there.
  link::CheckpointReport Interrupted() {
    TestEpoch epoch(directory_, 1, kTinyEpoch, {}, {"GP_ISA_MAX=amx_twin"});
    DecideFirstOffer(epoch);
    epoch.Form(file_);
    epoch.Go();
    const auto written = epoch.ranks[0]->Await<link::CheckpointReport>();
    epoch.ranks[0]->Signal(SIGKILL);
    epoch.ranks[0]->Wait();
    return written;
  }

  std::unique_ptr<TestEpoch> Resumed(const link::CheckpointReport& from, int ranks,
                                     const std::string& isa_max, int threads) {
    auto epoch = std::make_unique<TestEpoch>(
        directory_, ranks, kTinyEpoch + 1,
        contract::ResumePoint{from.step, from.directory, from.manifest_digest},
        std::vector<std::string>(static_cast<size_t>(ranks), "GP_ISA_MAX=" + isa_max));
    epoch->isa = "amx";
    epoch->threads = threads;
    epoch->begun = true;
    return epoch;
  }

  const std::string& file() const { return file_; }

 private:
  static void DecideFirstOffer(TestEpoch& epoch) {
    epoch.decide = [](const std::vector<link::Listening>& offers, link::Configure& configure) {
      configure.isa = offers[0].isa_levels->front();
    };
  }

  const TemporaryDirectory directory_;
  std::string file_;
};

TEST(ManagedTraining, ARunOfAmxGoesOnWithAvx512OnOtherThreadsWithTheSameWeights) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  AmxRun undisturbed;
  const std::string expected = undisturbed.ModelAtTheEnd();
  for (const auto& [ranks, threads] : {std::pair(1, 3), std::pair(2, 1)}) {
    AmxRun run;
    const auto resumed = run.Resumed(run.Interrupted(), ranks, "avx512", threads);
    resumed->Form(run.file());
    resumed->Go();
    std::string warning;
    const auto written = resumed->Finish([&](size_t rank, const link::Message& message) {
      const auto* report = std::get_if<link::StepReport>(&message);
      if (rank == 0 && report != nullptr && warning.empty()) warning = report->point.warning;
    });
    ASSERT_FALSE(written.empty());
    EXPECT_TRUE(ModelBytes(written.back().directory) == expected)
        << ranks << " ranks, " << threads << " threads";
    EXPECT_EQ(formats::ReadManifest(LocalStorage(), written.back().directory)->record.isa, "amx");
    EXPECT_NE(warning.find("level amx compute with AVX-512 here"), std::string::npos) << warning;
  }
}

TEST(ManagedTraining, ARunOfAmxIsUnfitForANodeWithoutAvx512) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  AmxRun run;
  const auto resumed = run.Resumed(run.Interrupted(), 1, "avx2", 1);
  resumed->Start(run.file());
  const auto failed = resumed->ranks[0]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kUnfit);
  EXPECT_NE(failed.message.find("amx kernels, but this machine has at most avx2"),
            std::string::npos)
      << failed.message;
}

TEST(ManagedTraining, AmxAskedForInVainIsSaidOnceAndTheNextLevelIsTaken) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  if (Amx().usable) GTEST_SKIP() << "this processor has AMX";
  const TemporaryDirectory directory;
  TestEpoch epoch(directory, 1, kTinyEpoch, {}, {"GP_ISA_MAX=amx"}, LogTo::kFile);
  epoch.Form(TinyRunFile(directory.Write("text.txt", TinyText()), kTinySteps, 0));
  epoch.Go();
  epoch.Finish();
  EXPECT_EQ(epoch.offers[0].isa_levels->front(), IsaName(BestIsa()));
  const std::string log = *ReadFile(epoch.Log(0));
  const size_t line = log.find("level amx is not used");
  ASSERT_NE(line, std::string::npos) << log;
  EXPECT_EQ(log.find("level amx is not used", line + 1), std::string::npos) << log;
  EXPECT_NE(log.find(Amx().why_not, line), std::string::npos) << log;
}

TEST(ManagedTraining, AFinalCheckpointThatIsRefusedIsAFailure) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  TestEpoch epoch(directory, 1, kTinyEpoch);
  epoch.Form(TinyRunFile(text, 2, 0));
  epoch.Go();
  const auto written = epoch.ranks[0]->Await<link::CheckpointReport>();
  epoch.ranks[0]->Await<link::Finished>();
  epoch.ranks[0]->Send(link::SealResult{written.step, false, "the epoch is stale"});
  const auto failed = epoch.ranks[0]->Await<link::Failed>();
  EXPECT_NE(failed.message.find("the epoch is stale"), std::string::npos) << failed.message;
  EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kStorage));
}

}  // namespace
}  // namespace gp::engine
