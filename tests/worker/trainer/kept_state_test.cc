// A run that takes over the optimizer's state and the position in the data of another run's
// checkpoint, as gp-trainer processes.
#include "worker/trainer/kept_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/exit_code.h"
#include "formats/checkpoint_directory.h"
#include "formats/metrics_line.h"
#include "storage/local_storage.h"
#include "worker/trainer/test_epoch.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

using formats::CheckpointManifest;
using ::testing::HasSubstr;

using Settings = std::vector<std::string>;  // as of --set

// A run of 16 steps with checkpoints after 6, 12 and 16, and runs that begin with them.
class Fork : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteRun(TinyRunFile(directory_.Write("text.txt", TinyText()), kTinySteps, 6));
  }

  void WriteRun(const std::string& run_file) { directory_.Write("run.yaml", run_file); }

  // Trains into the directory `out`; returns the exit code. The log is log_ afterwards.
  int Train(const std::string& out, const Settings& settings = {}) {
    std::vector<std::string> arguments = {"--spec", directory_.File("run.yaml"), "--out",
                                          directory_.File(out)};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    const std::string file = directory_.File("log");
    const int code = TrainerProcess(arguments, /*managed=*/false, {}, file).Wait();
    log_ = ReadFile(file).value_or("");
    return code;
  }

  static Settings Keep(const std::string& checkpoint, Settings more = {},
                       const std::string& optimizer = "keep", const std::string& data = "keep") {
    Settings all = {"init_from=" + checkpoint, "init_optimizer=" + optimizer, "init_data=" + data};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // The checkpoint of `step` in the directory `out`; empty if there is none.
  std::string At(const std::string& out, int64_t step) const {
    const auto found =
        formats::FindCheckpoints(LocalStorage(), directory_.File(out + "/checkpoints"));
    EXPECT_TRUE(found.ok());
    for (const auto& checkpoint : *found) {
      if (checkpoint.manifest.ok() && checkpoint.manifest->step == step)
        return checkpoint.directory;
    }
    return "";
  }

  CheckpointManifest ManifestAt(const std::string& out, int64_t step) const {
    const auto manifest = formats::ReadManifest(LocalStorage(), At(out, step));
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return manifest.ok() ? *manifest : CheckpointManifest();
  }

  std::string Bytes(const std::string& out, int64_t step, const std::string& file) const {
    const auto bytes = ReadFile(JoinPath(At(out, step), file));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.value_or("");
  }

  // Step, tokens, losses and rate of the recorded points after step `after`.
  std::vector<std::string> Points(const std::string& out, int64_t after = 0) const {
    std::vector<std::string> points;
    const std::string text = ReadFile(directory_.File(out + "/metrics.jsonl")).value_or("");
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const auto point = formats::ParseMetricsLine(text.substr(begin, end - begin));
      EXPECT_TRUE(point.ok()) << point.status();
      if (!point.ok() || point->step <= after) continue;
      points.push_back(fmt::format("{} {} {} {} {}", point->step, point->tokens, point->loss,
                                   point->validation_loss.value_or(0), point->learning_rate));
    }
    return points;
  }

  void ExpectSameFiles(const std::string& out, const std::string& expected, int64_t step) const {
    for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
      EXPECT_TRUE(Bytes(out, step, file) == Bytes(expected, step, file)) << file;
    }
    EXPECT_EQ(ManifestAt(out, step).tokens, ManifestAt(expected, step).tokens);
    EXPECT_EQ(ManifestAt(out, step).record.updates, ManifestAt(expected, step).record.updates);
  }

  // Trains, begins again with the checkpoint of step 6, and compares everything after it.
  void ExpectForkEqualsUndisturbed(const Settings& settings = {}) {
    ASSERT_EQ(Train("base", settings), 0) << log_;
    ASSERT_EQ(Train("fork", Keep(At("base", 6), settings)), 0) << log_;
    ExpectSameFiles("fork", "base", 12);
    ExpectSameFiles("fork", "base", kTinySteps);
    EXPECT_EQ(Points("fork"), Points("base", 6));
    EXPECT_EQ(ManifestAt("fork", kTinySteps).record.init_step, 6);
  }

  // The run fails with the exit code for a mistake in the run file, and says this.
  void ExpectRefused(const Settings& settings, const std::string& words) {
    EXPECT_EQ(Train("refused", settings), ProcessStatus(ExitCode::kUsage)) << log_;
    EXPECT_THAT(log_, HasSubstr(words));
    EXPECT_FALSE(FileExists(directory_.File("refused/metrics.jsonl"))) << "a step was taken";
  }

  static void SetOptimizer(const std::string& checkpoint, const std::string& optimizer) {
    auto manifest = formats::ReadManifest(LocalStorage(), checkpoint);
    ASSERT_TRUE(manifest.ok());
    manifest->record.optimizer = optimizer;
    ASSERT_TRUE(
        WriteFileAtomically(JoinPath(checkpoint, "manifest.json"), FormatManifest(*manifest)).ok());
  }

  void Damage(const std::string& path) {
    std::string bytes = ReadFile(path).value_or("");
    ASSERT_FALSE(bytes.empty());
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  }

  TemporaryDirectory directory_;
  std::string log_;
};

TEST_F(Fork, GoesOnToTheBytesOfTheUndisturbedRun) { ExpectForkEqualsUndisturbed(); }

TEST_F(Fork, KeepsTheStateOfMuon) {
  ExpectForkEqualsUndisturbed({"optimizer.kind=muon", "model.n_head=3"});
}

// A checkpoint without the number is of a version of gp that had only the first arithmetic.
TEST_F(Fork, KeepsTheArithmeticOfAnOldCheckpointOfMuon) {
  const Settings muon = {"optimizer.kind=muon"};
  ASSERT_EQ(Train("new", muon), 0) << log_;
  EXPECT_EQ(ManifestAt("new", 6).record.optimizer, "muon@2");
  SetOptimizer(At("new", 6), "muon");
  ASSERT_EQ(Train("old", Keep(At("new", 6), muon)), 0) << log_;
  EXPECT_EQ(ManifestAt("old", 12).record.optimizer, "muon");
  EXPECT_NE(Bytes("old", 12, "model.safetensors"), Bytes("new", 12, "model.safetensors"));
  // It goes on so from its own checkpoints, too.
  ASSERT_EQ(Train("later", Keep(At("old", 12), muon)), 0) << log_;
  ExpectSameFiles("later", "old", kTinySteps);
}

TEST_F(Fork, RefusesTheArithmeticOfALaterVersion) {
  ASSERT_EQ(Train("base"), 0) << log_;
  SetOptimizer(At("base", 6), "adamw@7");
  ExpectRefused(Keep(At("base", 6)), "was made with version 7 of the optimizer's arithmetic");
}

TEST_F(Fork, KeepsThePaddingOfTheVocabulary) {
  ExpectForkEqualsUndisturbed({"model.pad_vocab_to=64", "precision=bf16"});
}

TEST_F(Fork, GoesOnInTheMiddleOfARamp) {
  ExpectForkEqualsUndisturbed({"batch.ramp_from_tokens=128", "batch.ramp_steps=10",
                               "data.order=sequential", "schedule.warmup_tokens=600",
                               "schedule.decay_steps=0", "schedule.decay_tokens=3000"});
}

TEST_F(Fork, GoesOnInAShuffledOrderWithAMicroBatchThatWasChosen) {
  ExpectForkEqualsUndisturbed({"data.order=shuffled", "batch.micro_batch=auto"});
}

TEST_F(Fork, GoesOnInAStream) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += TinyText();  // more than one block
  WriteRun(Replaced(
      TinyRunFile("", kTinySteps, 6), "text: [\"\"], tokenizer: chars",
      fmt::format("stream: [\"{}\"], tokenizer: bytes", directory_.Write("stream.txt", text))));
  ExpectForkEqualsUndisturbed();
}

TEST_F(Fork, CountsOnForEarlyStopping) {
  // No gain is large enough: the run ends with its fourth evaluation, after step 8.
  const Settings stopping = {"eval.every=2", "eval.patience=3", "eval.min_delta=100",
                             "checkpoint.every=6"};
  ASSERT_EQ(Train("base", stopping), 0) << log_;
  ASSERT_NE(At("base", 8), "") << log_;
  ASSERT_EQ(Train("fork", Keep(At("base", 6), stopping)), 0) << log_;
  ExpectSameFiles("fork", "base", 8);
  // A run that begins where the other one was stopped waits for an improvement again.
  ASSERT_EQ(Train("on", Keep(At("base", 8), stopping)), 0) << log_;
  EXPECT_NE(At("on", 14), "") << log_;
}

TEST_F(Fork, OnTwoRanksHasTheBytesOfOneRank) {
  ASSERT_EQ(Train("base"), 0) << log_;
  const std::string run_file =
      ReadFile(directory_.File("run.yaml")).value() +
      fmt::format("init_from: {}\ninit_optimizer: keep\ninit_data: keep\n", At("base", 6));
  TestEpoch epoch(directory_, 2, kTinyEpoch);
  epoch.Start(run_file);
  epoch.Configure();
  for (auto& rank : epoch.ranks) EXPECT_EQ(rank->Await<link::Ready>().step, 6);
  epoch.Go();
  std::vector<int64_t> steps;
  const auto written = epoch.Finish([&](size_t rank, const link::Message& message) {
    const auto* report = std::get_if<link::StepReport>(&message);
    if (rank == 0 && report != nullptr) steps.push_back(report->point.step);
  });
  ASSERT_EQ(written.size(), 2u);
  EXPECT_TRUE(ModelBytes(written.back().directory) ==
              Bytes("base", kTinySteps, "model.safetensors"));
  ASSERT_EQ(steps.size(), 10u);
  EXPECT_EQ(steps.front(), 7);
}

TEST_F(Fork, WithAnotherRateLearnsOtherwiseFromThereOn) {
  ASSERT_EQ(Train("base"), 0) << log_;
  ASSERT_EQ(Train("fork", Keep(At("base", 6), {"optimizer.lr=1e-3"})), 0) << log_;
  const auto base = Points("base", 6), fork = Points("fork");
  ASSERT_EQ(fork.size(), base.size());
  EXPECT_NE(fork[0], base[0]) << "the rate";
  EXPECT_EQ(fork[0].substr(0, fork[0].rfind(' ')), base[0].substr(0, base[0].rfind(' ')))
      << "the loss of its first step is that of the same weights and batch";
  EXPECT_FALSE(Bytes("fork", kTinySteps, "model.safetensors") ==
               Bytes("base", kTinySteps, "model.safetensors"));
}

TEST_F(Fork, WithAResetOptimizerGoesOnInTheData) {
  ASSERT_EQ(Train("base"), 0) << log_;
  ASSERT_EQ(Train("fork", Keep(At("base", 6), {}, "reset", "keep")), 0) << log_;
  const auto base = Points("base", 6), fork = Points("fork");
  ASSERT_EQ(fork.size(), base.size());
  EXPECT_EQ(fork[0], base[0]);
  EXPECT_NE(fork[1], base[1]);
  EXPECT_EQ(ManifestAt("fork", kTinySteps).record.updates, 10);
}

TEST_F(Fork, WithResetDataBeginsAtTheFirstStepWithTheMoments) {
  ASSERT_EQ(Train("base"), 0) << log_;
  ASSERT_EQ(Train("fork", Keep(At("base", 6), {}, "keep", "reset")), 0) << log_;
  EXPECT_EQ(Points("fork").size(), static_cast<size_t>(kTinySteps));
  const CheckpointManifest last = ManifestAt("fork", kTinySteps);
  EXPECT_EQ(last.record.updates, 6 + kTinySteps);
  EXPECT_EQ(last.tokens, 256 * kTinySteps);
  EXPECT_FALSE(last.record.init_step.has_value());
  ASSERT_EQ(Train("fresh", Keep(At("base", 6), {}, "reset", "reset")), 0) << log_;
  EXPECT_EQ(Points("fresh")[0], Points("fork")[0]);
  EXPECT_NE(Points("fresh")[1], Points("fork")[1]) << "the moments decide the first update";
}

TEST_F(Fork, ResumesFromItsOwnCheckpointWithoutTheOther) {
  ASSERT_EQ(Train("base", {"data.order=sequential"}), 0) << log_;
  const Settings settings =
      Keep(At("base", 6), {"batch.total_tokens=512", "data.order=sequential"});
  ASSERT_EQ(Train("fork", settings), 0) << log_;
  const std::string expected = Bytes("fork", kTinySteps, "model.safetensors");
  const auto points = Points("fork");
  const int64_t tokens = 6 * 256 + 10 * 512;
  EXPECT_EQ(ManifestAt("fork", kTinySteps).tokens, tokens) << "each step counts its own batch";
  ASSERT_TRUE(RemoveTree(At("fork", kTinySteps)).ok());
  // Resolving reads the model of init_from, which the service does only at the submit.
  std::filesystem::rename(At("base", 6), At("base", 6) + ".elsewhere");
  const std::string resolved = ReadFile(directory_.File("fork/resolved.yaml")).value();
  TestEpoch epoch(directory_, 1, kTinyEpoch, contract::ResumePoint{12, At("fork", 12), ""});
  epoch.Form(resolved);
  epoch.Go();
  const auto written = epoch.Finish();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_TRUE(ModelBytes(written.back().directory) == expected);
  const auto manifest = formats::ReadManifest(LocalStorage(), written.back().directory);
  EXPECT_EQ(manifest->tokens, tokens);
  EXPECT_EQ(manifest->record.init_step, 6);
  EXPECT_EQ(manifest->record.init_tokens, 6 * 256);
}

TEST_F(Fork, OfAForkCountsAllSteps) {
  ASSERT_EQ(Train("base"), 0) << log_;
  ASSERT_EQ(Train("fork", Keep(At("base", 6), {"batch.total_tokens=512"})), 0) << log_;
  ASSERT_EQ(Train("second", Keep(At("fork", 12), {"budget.steps=0", "budget.tokens=5632"})), 0)
      << log_;
  const CheckpointManifest last = ManifestAt("second", 16);
  EXPECT_EQ(last.tokens, 6 * 256 + 6 * 512 + 4 * 256);
  EXPECT_EQ(last.record.init_step, 12);
}

TEST_F(Fork, WhatDoesNotFitIsRefusedBeforeTheFirstStep) {
  ASSERT_EQ(Train("base"), 0) << log_;
  const std::string from = At("base", 6);
  ExpectRefused(Keep(from, {"optimizer.kind=muon"}), "set optimizer.kind: adamw, or");
  ExpectRefused(Keep(from, {"model.n_ctx=8", "batch.sequence=8"}), "model.n_ctx gives 8 positions");
  ExpectRefused(Keep(from, {"train=[ln_f]"}), "train has [ln_f]");
  ExpectRefused(Keep(from, {"data.order=shuffled"}), "data.order is shuffled");
  ExpectRefused(Keep(from, {"budget.steps=6"}), "no step is left");
  ExpectRefused(Keep("scratch"), "init_from is scratch");
  directory_.Write("other.txt", TinyText() + TinyText());
  ExpectRefused(Keep(from, {"data.text=[" + directory_.File("other.txt") + "]"}),
                "the content of data is not that of the checkpoint");
  ExpectRefused(Keep(from, {"data.val_fraction=0.2"}), "or set init_data: reset");
  EXPECT_EQ(Train("reset", Keep(from, {"data.val_fraction=0.2"}, "keep", "reset")), 0) << log_;
}

TEST_F(Fork, ADamagedCheckpointIsNamed) {
  ASSERT_EQ(Train("base"), 0) << log_;
  const std::string from = At("base", 6);
  Damage(JoinPath(from, "optimizer.safetensors"));
  ExpectRefused(Keep(from), "optimizer.safetensors has the xxh3_128");
  EXPECT_THAT(log_, HasSubstr("the checkpoint is damaged"));
  EXPECT_EQ(Train("weights", Keep(from, {}, "reset", "keep")), 0)
      << "the weights are whole" << log_;
  ASSERT_TRUE(WriteFileAtomically(JoinPath(from, "manifest.json"), "{\"format\"").ok());
  ExpectRefused(Keep(from), "manifest.json is not a JSON object; the checkpoint is damaged");
  ASSERT_TRUE(RemoveTree(JoinPath(from, "manifest.json")).ok());
  ExpectRefused(Keep(from), "this checkpoint was never completed");
  const std::string later = At("base", 12);
  ASSERT_TRUE(formats::Quarantine(LocalStorage(), later, "two readers found it damaged").ok());
  ExpectRefused(Keep(later), "is in quarantine");
}

}  // namespace
}  // namespace gp::engine
