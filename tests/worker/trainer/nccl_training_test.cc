// Goal: a group of GPUs forms, trains, fails and resumes like a group of CPUs, with the optimizer's
// state replicated or partitioned. Method: real trainer processes, driven over their links, that
// use the host as their GPUs and communicate through the fake NCCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exit_code.h"
#include "worker/trainer/test_epoch.h"

namespace gp::engine {
namespace {

using testing::HasSubstr;

constexpr int64_t kSteps = 16;
constexpr uint64_t kEpoch = 4;

std::string GpuRunFile(const TemporaryDirectory& directory, bool zero1) {
  std::string text = TinyRunFile(directory.Write("text.txt", TinyText()), kSteps, 6);
  const std::string resources = "resources: {";
  text.replace(text.find(resources), resources.size(), "resources: {device: gpu, ");
  return text + "deterministic: true\n" + (zero1 ? "engine: {zero1: true}\n" : "");
}

std::vector<link::CheckpointReport> Train(const TemporaryDirectory& directory, int world_size,
                                          bool zero1, uint64_t number = kEpoch,
                                          std::optional<contract::ResumePoint> resume = {}) {
  TestEpoch epoch(directory, world_size, number, std::move(resume));
  epoch.Form(GpuRunFile(directory, zero1));
  epoch.Go();
  return epoch.Finish();
}

TEST(NcclTraining, TheFilesAreThoseOfOneGpuForEveryNumberAndEveryCut) {
  const TemporaryDirectory one;
  const auto alone = Train(one, 1, /*zero1=*/false);
  ASSERT_EQ(alone.size(), 3u);
  for (const bool zero1 : {false, true}) {
    for (const int world_size : {2, 3}) {
      const TemporaryDirectory several;
      const auto written = Train(several, world_size, zero1);
      ASSERT_EQ(written.size(), 3u);
      for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
        const auto expected = ReadFile(JoinPath(alone.back().directory, file));
        const auto actual = ReadFile(JoinPath(written.back().directory, file));
        ASSERT_TRUE(expected.ok() && actual.ok());
        EXPECT_TRUE(*actual == *expected) << file << " of " << world_size << ", cut: " << zero1;
      }
    }
  }
}

TEST(NcclTraining, AnotherNumberOfRanksGoesOnFromACheckpointOfCutState) {
  const TemporaryDirectory directory;
  const auto written = Train(directory, 3, /*zero1=*/true);
  ASSERT_EQ(written.size(), 3u);
  const std::string expected = ModelBytes(written.back().directory);
  const contract::ResumePoint resume{6, written[0].directory, written[0].manifest_digest};
  const auto cut = Train(directory, 2, /*zero1=*/true, kEpoch + 1, resume);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_TRUE(ModelBytes(cut.back().directory) == expected);
  const auto whole = Train(directory, 1, /*zero1=*/false, kEpoch + 2, resume);
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_TRUE(ModelBytes(whole.back().directory) == expected);
}

TEST(NcclTraining, AnotherRunTakesOverTheCutStateOfMoreRanks) {
  const TemporaryDirectory directory;
  const auto written = Train(directory, 3, /*zero1=*/true);
  ASSERT_EQ(written.size(), 3u);
  const TemporaryDirectory other;
  TestEpoch epoch(other, 2, kEpoch);
  epoch.Form(
      GpuRunFile(other, /*zero1=*/true) +
      fmt::format("init_from: {}\ninit_optimizer: keep\ninit_data: keep\n", written[0].directory));
  epoch.Go();
  const auto forked = epoch.Finish();
  ASSERT_EQ(forked.size(), 2u);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const auto expected = ReadFile(JoinPath(written.back().directory, file));
    const auto actual = ReadFile(JoinPath(forked.back().directory, file));
    ASSERT_TRUE(expected.ok() && actual.ok());
    EXPECT_TRUE(*actual == *expected) << file;
  }
}

TEST(NcclTraining, Rank0OffersAnIdThatEveryEpochMakesAnew) {
  const TemporaryDirectory directory;
  std::vector<std::string> ids;
  for (const uint64_t number : {kEpoch, kEpoch + 1}) {
    TestEpoch epoch(directory, 2, number);
    epoch.Start(GpuRunFile(directory, /*zero1=*/false));
    ids.push_back(epoch.ranks[0]->Await<link::Listening>().nccl_id.value_or(""));
    EXPECT_FALSE(epoch.ranks[1]->Await<link::Listening>().nccl_id.has_value());
  }
  EXPECT_EQ(ids[0].size(), 256u);
  EXPECT_NE(ids[0], ids[1]);
}

TEST(NcclTraining, ARankThatIsKilledInACollectiveEndsItsPeersAndTheNextEpochTrains) {
  const TemporaryDirectory directory;
  {
    TestEpoch epoch(directory, 2, kEpoch);
    epoch.Form(GpuRunFile(directory, /*zero1=*/false));
    // Rank 0 now waits for rank 1 in its first step.
    epoch.ranks[0]->Send(link::Go{.epoch = kEpoch});
    epoch.ranks[1]->Signal(SIGKILL);
    const auto failed = epoch.ranks[0]->Await<link::Failed>();
    EXPECT_EQ(failed.cause, contract::ExitCause::kCollective);
    EXPECT_THAT(failed.message, HasSubstr("rank 0 of epoch 4: NCCL: remote process exited"));
    EXPECT_EQ(epoch.ranks[0]->Wait(), ProcessStatus(ExitCode::kCollective));
  }
  EXPECT_EQ(Train(directory, 2, /*zero1=*/false, kEpoch + 1).size(), 3u);
}

// NCCL does not encrypt. Within one node, no data leaves the machine, so training is allowed.
TEST(NcclTraining, AnEncryptedGroupOfSeveralNodesIsRefusedInWordsAndOneNodeTrains) {
  for (const bool several_nodes : {true, false}) {
    const TemporaryDirectory directory;
    TestEpoch epoch(directory, 2, kEpoch);
    epoch.decide = [&](const auto&, link::Configure& configure) {
      configure.encrypted = true;
      if (several_nodes) configure.addresses[1] = "192.0.2.1:1";
    };
    epoch.Start(GpuRunFile(directory, /*zero1=*/false));
    epoch.Configure();
    for (auto& rank : epoch.ranks) {
      if (!several_nodes) {
        EXPECT_EQ(rank->Await<link::Ready>().epoch, kEpoch);
        continue;
      }
      const auto failed = rank->Await<link::Failed>();
      EXPECT_EQ(failed.cause, contract::ExitCause::kConfig);
      EXPECT_THAT(failed.message, HasSubstr("gradients.encrypted"));
      EXPECT_THAT(failed.message, HasSubstr("give the run the GPUs of one node"));
      EXPECT_EQ(rank->Wait(), ProcessStatus(ExitCode::kUsage));
    }
  }
}

TEST(NcclTraining, ARankWithoutTheLibraryIsUnfitBeforeAnyoneWaitsForIt) {
  const TemporaryDirectory directory;
  TestEpoch epoch(directory, 2, kEpoch, {}, {"", "GP_NCCL_LIBRARY=/nowhere/libnccl.so.2"});
  epoch.Start(GpuRunFile(directory, /*zero1=*/false));
  const auto failed = epoch.ranks[1]->Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kUnfit);
  EXPECT_THAT(failed.message, HasSubstr("/nowhere/libnccl.so.2"));
}

}  // namespace
}  // namespace gp::engine
