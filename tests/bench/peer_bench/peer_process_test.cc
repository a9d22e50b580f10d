#include "bench/peer_bench/peer_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/base/temporary_directory.h"

namespace gp::engine {
namespace {

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

}  // namespace
}  // namespace gp::engine
