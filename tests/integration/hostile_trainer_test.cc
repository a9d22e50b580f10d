// A trainer controlled by an attacker, beside an honest one in the next slot. The agent ends it or
// reports it and uses little memory; the other run is unaffected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "integration/cluster.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

// More than a busy worker needs, and far less than the attacker sends.
constexpr int64_t kMemoryMegabytesMax = 400;

class HostileTrainer : public ::testing::Test {
 protected:
  HostileTrainer() : cluster_({.trainer = std::getenv("GP_FAKE_TRAINER")}) {
    EXPECT_TRUE(WriteFileAtomically(cluster_.directory() + "/text.txt", "some text\n").ok());
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 2});
  }

  std::string SubmitHostile(const std::string& kind) {
    std::string file = FakeRun(1, 100, fmt::format("fake-hostile: '{}'", kind));
    const size_t retries = file.find("max: 20");
    return cluster_.Submit(file.replace(retries, 7, "max: 0"));
  }

  // Expects that another run succeeds at once and that the agent was not restarted.
  void ExpectTheOtherRunIsWell() {
    const v1::Run honest = cluster_.WaitForEnd(cluster_.Submit(FakeRun(1, 200)));
    EXPECT_EQ(honest.state(), v1::RUN_STATE_SUCCEEDED) << honest.reason();
    EXPECT_EQ(honest.failures(), 0) << honest.reason();
    EXPECT_EQ(honest.epoch(), 1u);
    EXPECT_TRUE(cluster_.worker("node-a").Running());
    EXPECT_LE(PeakMegabytesOf(cluster_.worker("node-a").pid()), kMemoryMegabytesMax);
  }

  Cluster cluster_;
};

TEST_F(HostileTrainer, IsKilledForWhatNoTrainerSends) {
  const std::map<std::string, std::string> kinds = {
      {"garbage", "frame has 4294967295 bytes"},
      {"large", "a frame has 16777216 bytes; at most 262144 are allowed"},
      {"foreign", "it sent a message of a type that trainers do not send"},
      {"offer", "it sent an offer of 20000"},
      {"checkpoints", "the trainer sent more than 64 checkpoints at once"}};
  for (const auto& [kind, words] : kinds) {
    const std::string run = SubmitHostile(kind);
    ExpectTheOtherRunIsWell();
    const v1::Run ended = cluster_.WaitForEnd(run);
    EXPECT_EQ(ended.state(), v1::RUN_STATE_FAILED) << kind;
    EXPECT_THAT(ended.reason(), HasSubstr(words)) << kind;
    EXPECT_TRUE(cluster_.Checkpoints(run).empty()) << kind << ": nothing that it claimed is sealed";
  }
}

TEST_F(HostileTrainer, WhatItOnlySendsTooMuchOrTooLittleOfHoldsNobodyUp) {
  for (const char* kind : {"half", "early", "steps", "lines"}) {
    const std::string run = SubmitHostile(kind);
    cluster_.WaitFor(run, [](const v1::Run& r) { return r.state() == v1::RUN_STATE_STARTING; });
    ExpectTheOtherRunIsWell();
    cluster_.Cancel(run, /*now=*/true);
    const v1::Run ended = cluster_.WaitForEnd(run);
    EXPECT_EQ(ended.state(), v1::RUN_STATE_CANCELLED) << kind << ": " << ended.reason();
    EXPECT_LE(cluster_.Points(run).size(), 1u) << kind;
  }
}

}  // namespace
}  // namespace gp::testing
