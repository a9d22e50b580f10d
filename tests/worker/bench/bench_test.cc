// Goal: summaries are quartiles, a peer's protocol is spoken and its failures are told, our step
// trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/base/temporary_directory.h"
#include "worker/bench/peer_process.h"
#include "worker/bench/sample_summary.h"
#include "worker/bench/step_bench.h"
#include "worker/engine/backend/cpu/measured_peak.h"

namespace gp::engine {
namespace {

TEST(SampleSummary, GivesQuartiles) {
  const SampleSummary summary = Summarize({5, 1, 3, 2, 4});
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.low, 2);
  EXPECT_EQ(summary.high, 4);
  EXPECT_EQ(Summarize({1, 2}).median, 1.5);
  EXPECT_EQ(Summarize({}).median, 0);
}

TEST(PeerProcess, RunsStepsUntilItIsDestroyed) {
  auto peer = PeerProcess::Start(
      {"sh", "-c",
       "echo '{\"ready\":\"sh\"}'; while read n; do echo \"{\\\"ms\\\":[$n,2]}\"; done"});
  ASSERT_TRUE(peer.ok()) << Message(peer.status());
  EXPECT_EQ(peer->description(), "sh");
  EXPECT_THAT(*peer->RunSteps(7), testing::ElementsAre(7, 2));
  EXPECT_THAT(*peer->RunSteps(1), testing::ElementsAre(1, 2));
}

TEST(PeerProcess, MayTidyUpAfterItsLastRequest) {
  const TemporaryDirectory directory;
  const std::string tidied = directory.File("tidied");
  {
    auto peer = PeerProcess::Start(
        {"sh", "-c", "echo '{\"ready\":\"sh\"}'; read n; sleep 0.05; touch " + tidied});
    ASSERT_TRUE(peer.ok()) << Message(peer.status());
  }
  EXPECT_TRUE(std::filesystem::exists(tidied));
}

TEST(PeerProcess, SaysWhatWentWrong) {
  const auto message = [](const std::string& script) {
    auto peer = PeerProcess::Start({"sh", "-c", script});
    if (!peer.ok()) return Message(peer.status());
    return Message(peer->RunSteps(1).status());
  };
  EXPECT_THAT(message("echo no torch"), testing::HasSubstr("no torch"));
  EXPECT_THAT(message("exit 3"), testing::HasSubstr("ended early"));
  EXPECT_THAT(message("echo '{\"ready\":\"x\"}'; read n; echo oops"), testing::HasSubstr("oops"));
  EXPECT_FALSE(PeerProcess::Start({"/does/not/exist"}).ok());
}

TEST(StepBench, TrainsOnItsBatch) {
  runspec::ModelShape shape{.layers = 1, .heads = 2, .channels = 16, .context = 8};
  shape.vocabulary = shape.vocabulary_padded = 32;
  StepBench bench({.shape = shape, .micro_batch = 2, .sequence = 8});
  bench.Step();
  const double first = bench.loss();
  EXPECT_NEAR(first, std::log(32), 0.1);
  for (int i = 0; i < 20; ++i) EXPECT_GT(bench.Step().total_ms(), 0);
  EXPECT_LT(bench.loss(), first);
}

TEST(MeasuredPeak, IsPositive) { EXPECT_GT(MeasurePeakFlops(Isa::kAuto, 1, 0.01), 1e8); }

}  // namespace
}  // namespace gp::engine
