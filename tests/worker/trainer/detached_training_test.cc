// Goal: a whole training, from the first step to the last checkpoint, works with memory that the
// host cannot access, and writes the same files as on a CPU. (A stray access ends this test.)
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/clock.h"
#include "contract/channel.h"
#include "formats/checkpoint_directory.h"
#include "runspec/run_file.h"
#include "storage/local_storage.h"
#include "worker/engine/fakes/detached_backend.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/engine_choice.h"
#include "worker/trainer/exit_code.h"
#include "worker/trainer/managed_training.h"
#include "worker/trainer/overfit.h"
#include "worker/trainer/standalone_training.h"
#include "worker/trainer/tiny_run.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

using runspec::Precision;

runspec::RunSpec OnDevice(runspec::RunSpec spec, bool graph = true) {
  spec.resources.device = "gpu";
  spec.engine.graph = graph;
  return spec;
}

std::vector<float> TrainedParameters(const runspec::RunSpec& spec) {
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  TinyRank rank(*group[0], spec);
  rank.RunSteps(12);
  return rank.Parameters();
}

TEST(DetachedTrainer, ReachesTheWeightsOfTheHost) {
  runspec::RunSpec spec = TinySpec();
  const std::vector<float> expected = TrainedParameters(spec);
  EXPECT_EQ(TrainedParameters(OnDevice(spec, false)), expected);
  EXPECT_EQ(TrainedParameters(OnDevice(spec, true)), expected);
}

TEST(DetachedTrainer, AlsoWithMuonInBf16WithStochasticRoundingInPasses) {
  runspec::RunSpec spec = TinySpec();
  spec.optimizer.kind = runspec::OptimizerKind::kMuon;
  spec.precision = Precision::kBf16;
  spec.engine.stochastic_rounding = true;
  spec.engine.fused_optimizer = false;
  EXPECT_EQ(TrainedParameters(OnDevice(spec)), TrainedParameters(spec));
}

TEST(DetachedTrainer, PhasesOfTimeMarksAddUpToTheStep) {
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  TinyRank rank(*group[0], OnDevice(TinySpec()));
  const std::vector<StepResult> results = rank.RunSteps(3);
  for (const StepResult& result : results) {
    const contract::StepPhases& phases = result.phases;
    EXPECT_GT(phases.forward, 0);
    EXPECT_GT(phases.backward, 0);
    EXPECT_GT(phases.optimizer, 0);
    // The tolerance allows for rounding in sums of seconds.
    EXPECT_NEAR(phases.data_wait + phases.forward + phases.backward + phases.allreduce_exposed +
                    phases.optimizer + phases.other,
                result.seconds, 1e-9);
  }
}

TEST(DetachedTrainer, RecordsEachPassOnce) {
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  TinyRank rank(*group[0], OnDevice(TinySpec()));
  const auto& backend = dynamic_cast<const DetachedBackend&>(rank.model().backend());
  rank.RunSteps(1);
  const int64_t first = backend.replays();
  rank.RunSteps(1);
  const int64_t second = backend.replays() - first;
  // Forward and backward passes of two micro-batches of four shards, each replayed from a record.
  EXPECT_EQ(second, 16);
}

class StandaloneDevice : public testing::Test {
 protected:
  int Train(const std::string& out, std::vector<std::string> overrides) {
    overrides.push_back("resources.threads=1");
    return RunStandalone(
        {.spec_path = RunFile(), .overrides = overrides, .out_directory = Out(out)}, SystemClock());
  }

  std::string RunFile() {
    return directory_.Write("run.yaml",
                            TinyRunFile(directory_.Write("text.txt", TinyText()), 16, 6));
  }
  std::string Out(const std::string& out) const { return directory_.File(out); }

  std::string Newest(const std::string& out) const {
    const auto newest = formats::FindNewestCheckpoint(LocalStorage(), Out(out) + "/checkpoints");
    EXPECT_TRUE(newest.ok() && newest->has_value());
    return newest.ok() && *newest ? **newest : "";
  }

  void ExpectSameState(const std::string& left, const std::string& right) const {
    for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
      const auto expected = ReadFile(JoinPath(left, name));
      const auto found = ReadFile(JoinPath(right, name));
      ASSERT_TRUE(expected.ok() && found.ok()) << name;
      EXPECT_TRUE(*expected == *found) << name;
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(StandaloneDevice, LeavesTheFilesOfACpuAlsoWhenItGoesOnFromACheckpoint) {
  ASSERT_EQ(Train("cpu", {"resources.device=cpu"}), ProcessStatus(ExitCode::kOk));
  for (const std::string memory : {"2147483648", "0"}) {
    const std::string out = "gpu" + memory;
    const std::vector<std::string> overrides = {"resources.device=gpu", "precision=fp32",
                                                "checkpoint.snapshot_memory=" + memory};
    ASSERT_EQ(Train(out, overrides), ProcessStatus(ExitCode::kOk));
    ExpectSameState(Newest("cpu"), Newest(out));
    ASSERT_TRUE(RemoveTree(Newest(out)).ok());
    ASSERT_EQ(Train(out, overrides), ProcessStatus(ExitCode::kOk));
    ExpectSameState(Newest("cpu"), Newest(out));
  }
}

TEST_F(StandaloneDevice, RecordsWhatItComputedWith) {
  ASSERT_EQ(Train("auto", {"resources.device=auto", "precision=auto"}),
            ProcessStatus(ExitCode::kOk));
  auto record = formats::ReadManifest(LocalStorage(), Newest("auto"))->record;
  EXPECT_EQ(record.device, "Detached");
  EXPECT_EQ(record.isa, "detached");
  EXPECT_EQ(record.kernels, "here|tuned before");
  EXPECT_EQ(record.precision, "bf16");
}

TEST_F(StandaloneDevice, RefusesWhatTheDeviceLacks) {
  EXPECT_EQ(Train("out", {"resources.device=gpu", "precision=fp16"}),
            ProcessStatus(ExitCodeOf(contract::ExitCause::kConfig)));
}

TEST_F(StandaloneDevice, LearnsABatchByHeart) {
  EXPECT_EQ(
      RunOverfit({.spec_path = RunFile(),
                  .overrides = {"resources.device=gpu", "resources.threads=1", "model.dropout=0"}},
                 SystemClock()),
      ProcessStatus(ExitCode::kOk));
}

// A trainer whose supervisor is the test; it runs in a thread instead of a process.
class ManagedDevice {
 public:
  explicit ManagedDevice(const TemporaryDirectory& directory) : directory_(directory) {
    auto ends = link::Channel::MakePair();
    EXPECT_TRUE(ends.ok());
    channel_ = std::make_unique<link::Channel>(std::move(ends->first), "trainer");
    trainer_ = std::jthread([this, socket = std::move(ends->second)]() mutable {
      exit_code_ = RunManaged(std::move(socket), RunFiles{}, nullptr, SystemClock());
    });
  }

  void Send(const link::Message& message) { EXPECT_TRUE(channel_->Send(message).ok()); }

  template <typename T>
  T Await() {
    while (true) {
      const auto message = channel_->Receive(std::chrono::seconds(60));
      if (!message.ok() || !*message) {
        ADD_FAILURE() << "the trainer ended the link: " << message.status();
        return T();
      }
      if (const T* wanted = std::get_if<T>(&**message)) return *wanted;
    }
  }

  // `isa`: the instruction set chosen in an earlier epoch; empty: not yet chosen.
  void Start(const std::string& run_file, const std::string& isa) {
    Send(link::Hello{.version = "test", .incarnation = "one"});
    Await<link::Hello>();
    Send(link::Start{.run_id = "run",
                     .run_name = "tiny",
                     .epoch = 4,
                     .resolved = run_file,
                     .run_directory = directory_.File("run"),
                     .data_address = "127.0.0.1",
                     .logical_shards = 4,
                     .isa = isa});
  }

  int Wait() {
    trainer_.join();
    return exit_code_;
  }

 private:
  const TemporaryDirectory& directory_;
  std::unique_ptr<link::Channel> channel_;
  int exit_code_ = -1;
  // last, so that it is joined before the members that it uses are destroyed.
  std::jthread trainer_;
};

std::string ResolvedForDevice(const TemporaryDirectory& directory) {
  const auto loaded =
      runspec::LoadRunFile(TinyRunFile(directory.Write("text.txt", TinyText()), 16, 6), "run.yaml",
                           {"resources.device=gpu", "precision=fp32", "deterministic=true"});
  EXPECT_TRUE(loaded.spec.has_value());
  return loaded.spec ? runspec::ResolvedYaml(*loaded.spec) : "";
}

TEST(ManagedDevice, OffersItsKernelsAndTrainsToASealedCheckpoint) {
  const TemporaryDirectory directory;
  ManagedDevice trainer(directory);
  trainer.Start(ResolvedForDevice(directory), "detached");
  const auto offer = trainer.Await<link::Listening>();
  EXPECT_EQ(*offer.isa_levels, std::vector<std::string>{"detached"});
  EXPECT_EQ(offer.kernels->at("detached"), "here|tuned before");
  trainer.Send(link::Configure{
      .epoch = 4,
      .addresses = {offer.address},
      .secret = "secret",
      .isa = "detached",
      .kernels = std::map<std::string, std::string>{{"detached", "here|decided by rank 0"}}});
  trainer.Await<link::Ready>();
  trainer.Send(link::Go{.epoch = 4});
  link::CheckpointReport written;
  while (!written.final) {
    written = trainer.Await<link::CheckpointReport>();
    trainer.Send(link::SealResult{.step = written.step, .sealed = true});
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(trainer.Wait(), ProcessStatus(ExitCode::kOk));
  EXPECT_EQ(written.step, 16);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), written.directory)->record.kernels,
            "here|decided by rank 0");
}

TEST(ManagedDevice, IsUnfitForARunThatBeganOnOtherKernels) {
  const TemporaryDirectory directory;
  ManagedDevice trainer(directory);
  trainer.Start(ResolvedForDevice(directory), "cuda sm_90");
  const auto failed = trainer.Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kUnfit);
  EXPECT_NE(failed.message.find("cuda sm_90"), std::string::npos) << failed.message;
  trainer.Wait();
}

TEST(ResolveDevice, TakesTheDeviceThatThereIsAndItsBestPrecision) {
  runspec::RunSpec spec;
  spec.resources.device = "auto";
  spec.precision = Precision::kAuto;
  ResolveDevice(spec);
  EXPECT_EQ(spec.resources.device, "gpu");
  EXPECT_EQ(spec.precision, Precision::kBf16);
  spec.resources.device = "cpu";
  spec.precision = Precision::kAuto;
  ResolveDevice(spec);
  EXPECT_EQ(spec.precision, Precision::kFp32);
}

TEST(Reproduce, OnADeviceNeedsTheKernelsOfTheRecord) {
  const EngineRecord other{.isa = "cuda sm_90"};
  EXPECT_THROW(Reproduce(other, /*deterministic=*/true, 1, /*on_device=*/true), TrainingError);
  EXPECT_EQ(Reproduce(other, false, 1, true).device_kernels, "detached");
  const EngineRecord same{.isa = "detached", .kernels = {{"detached", "here|as before"}}};
  const EngineChoice choice = Reproduce(same, true, 2, true);
  EXPECT_EQ(choice.device_tuning, "here|as before");
  EXPECT_EQ(RecordOf(choice).kernels.at("detached"), "here|as before");
}

TEST(Reproduce, WhatWasTunedElsewhereIsPassedOverUnlessBitsMatter) {
  const EngineRecord record{.isa = "detached", .kernels = {{"detached", "another card|as before"}}};
  for (const int ranks : {1, 2}) {
    EXPECT_EQ(Reproduce(record, /*deterministic=*/false, ranks, /*on_device=*/true).device_tuning,
              "");
  }
  try {
    Reproduce(record, /*deterministic=*/true, 1, /*on_device=*/true);
    ADD_FAILURE() << "another card's choices were taken";
  } catch (const TrainingError& error) {
    EXPECT_EQ(error.cause(), contract::ExitCause::kUnfit);
    EXPECT_NE(std::string(error.what()).find("chosen for another card, but this is here"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gp::engine
