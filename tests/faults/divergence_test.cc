// Runs that diverge, with real trainers: the training text has noise in one place, which the model
// has never seen, so that the loss is a spike there. The run skips these batches, goes back to a
// checkpoint, or ends; killed and on several ranks it does the same, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 300;
constexpr int kTokensPerStep = 256;
constexpr int kNoiseStep = 180;  // the batches are read in order

// Text of few different words, with noise where step kNoiseStep reads.
std::string PoisonedText() {
  std::string text;
  while (text.size() < static_cast<size_t>(kSteps + 40) * kTokensPerStep) text += "abcdefgh ";
  std::mt19937 random(5);
  // The first token of a step is only an input, and the one after its last only a target.
  const size_t begin = static_cast<size_t>(kNoiseStep - 1) * kTokensPerStep;
  for (size_t i = begin + 1; i < begin + kTokensPerStep; ++i) {
    text[i] = static_cast<char>('A' + random() % 50);
  }
  return text;
}

std::string PoisonedRun(int workers, const std::string& stability,
                        const std::string& optimizer = "lr: 1e-2") {
  return fmt::format(
      "apiVersion: gp/v1\n"
      "name: poisoned\n"
      "model: {{n_layer: 1, n_head: 2, n_embd: 32, n_ctx: 16}}\n"
      "data: {{text: [poisoned.txt], tokenizer: bytes, order: sequential, val_fraction: 0.02}}\n"
      "resources: {{workers: {}, max_workers: 4, device: cpu}}\n"
      "batch: {{micro_batch: 2, sequence: 16, total_tokens: {}}}\n"
      "optimizer: {{{}}}\n"
      "schedule: {{warmup_steps: 10}}\n"
      "budget: {{steps: {}}}\n"
      "checkpoint: {{every: 20, keep_last: 20}}\n"
      "retries: {{max: 100, backoff: 50ms, backoff_max: 200ms}}\n"
      "stability: {{{}}}\n",
      workers, kTokensPerStep, optimizer, kSteps, stability);
}

class Divergence : public ::testing::Test {
 protected:
  Divergence() {
    const Status written =
        WriteFileAtomically(JoinPath(cluster_.directory(), "poisoned.txt"), PoisonedText());
    EXPECT_TRUE(written.ok()) << written;
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 4});
  }

  std::vector<int64_t> SkippedSteps(const std::string& run) {
    std::vector<int64_t> steps;
    for (const v1::MetricPoint& point : cluster_.Points(run)) {
      if (point.spike()) steps.push_back(point.step());
    }
    return steps;
  }

  std::vector<std::string> ReasonsOf(const std::string& run, const std::string& kind) {
    std::vector<std::string> reasons;
    for (const v1::RunEvent& event : cluster_.Events(run)) {
      if (event.kind() == kind) reasons.push_back(event.reason());
    }
    return reasons;
  }

  std::string WeightsAfter(const std::string& run) {
    const v1::Run end = cluster_.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    return FinalWeights(cluster_, run);
  }

  // Kills the trainers of the run once it has taken `step`.
  void KillAllAt(const std::string& run, int64_t step) {
    cluster_.WaitForStep(run, step);
    for (const pid_t trainer : ChildrenOf(cluster_.worker("node-a").pid())) kill(trainer, SIGKILL);
  }

  Cluster cluster_;
};

TEST_F(Divergence, ASkippedStepIsSkippedAgainAfterAKillAndOnOtherRanks) {
  const std::string skip = "on_divergence: skip, spike_sigma: 6";
  const std::string run = cluster_.Submit(PoisonedRun(1, skip));
  const std::string weights = WeightsAfter(run);
  EXPECT_EQ(SkippedSteps(run), std::vector<int64_t>{kNoiseStep});
  const auto warnings = ReasonsOf(run, "warned");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("skipped: step 180: the loss "));
  EXPECT_THAT(warnings[0], HasSubstr("its batch is left out"));
  const auto manifest =
      ReadFile(JoinPath(cluster_.Checkpoints(run).back().directory(), "manifest.json"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT(*manifest, HasSubstr("\"skipped_steps\": \"180\""));

  // Killed before the skipped step, so that it is skipped again, and after it.
  const std::string killed = cluster_.Submit(PoisonedRun(3, skip));
  for (const int64_t step : {kNoiseStep - 15, kNoiseStep + 5}) KillAllAt(killed, step);
  EXPECT_TRUE(WeightsAfter(killed) == weights) << "another skip gives other weights";
  EXPECT_GE(cluster_.Get(killed).failures(), 1);

  const std::string trained = cluster_.Submit(PoisonedRun(1, "on_divergence: skip"));
  EXPECT_FALSE(WeightsAfter(trained) == weights) << "the batch of the spike was trained on";
  EXPECT_EQ(SkippedSteps(trained), std::vector<int64_t>());
}

TEST_F(Divergence, WithStopTheRunEndsAsFailedWithoutARetry) {
  const std::string run = cluster_.Submit(PoisonedRun(2, "on_divergence: stop, spike_sigma: 6"));
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED) << end.reason();
  EXPECT_THAT(end.reason(), HasSubstr("diverged: step 180: the loss "));
  EXPECT_THAT(end.reason(), HasSubstr("retrying cannot help"));
  EXPECT_EQ(end.failures(), 1);
  EXPECT_EQ(end.latest_checkpoint_step(), 160);
}

// A learning rate at which the loss climbs for many steps, without a spike.
TEST_F(Divergence, WithStopALossThatClimbsEndsTheRunToo) {
  const std::string high = "lr: 3, grad_clip: 0, beta2: 0.5";
  const std::string warned = cluster_.Submit(PoisonedRun(2, "on_divergence: skip", high));
  const v1::Run end = cluster_.WaitForEnd(warned);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_THAT(end.progress().warning(), HasSubstr("diverged: the training loss"));
  const std::string stopped = cluster_.Submit(PoisonedRun(2, "on_divergence: stop", high));
  const v1::Run failed = cluster_.WaitForEnd(stopped);
  EXPECT_EQ(failed.state(), v1::RUN_STATE_FAILED) << failed.reason();
  EXPECT_THAT(failed.reason(), HasSubstr("rank 0: diverged: the "));
}

TEST_F(Divergence, ARollbackLeavesOutTheBatchesSinceTheCheckpoint) {
  const std::string rollback = "on_divergence: rollback, spike_sigma: 6";
  const std::string run = cluster_.Submit(PoisonedRun(2, rollback));
  const std::string weights = WeightsAfter(run);
  const auto failures = ReasonsOf(run, "rank_failed");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("diverged: step 180: the loss "));
  EXPECT_THAT(failures[0], HasSubstr("going back to the checkpoint of step 160 and on after step "
                                     "180, without the batches in between: 1 of 3 times"));
  const auto manifest =
      ReadFile(JoinPath(cluster_.Checkpoints(run).back().directory(), "manifest.json"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT(*manifest, HasSubstr("\"skipped_steps\": \"161-180\""));
  // The same again, killed before the next checkpoint is sealed: it goes on after step 180, too.
  const std::string killed = cluster_.Submit(PoisonedRun(1, rollback));
  cluster_.WaitFor(killed, [](const v1::Run& now) { return now.failures() == 1; });
  KillAllAt(killed, kNoiseStep + 5);
  EXPECT_TRUE(WeightsAfter(killed) == weights);
}

}  // namespace
}  // namespace gp::testing
