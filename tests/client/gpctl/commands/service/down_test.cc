// `down`: what it stops, names and deletes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "client/gpctl/service/service_fixture.h"
#include "client/gpctl/session/context_file.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

class DownCommandTest : public ServiceFixture {};

TEST_F(DownCommandTest, DownFollowsTheContextAndNamesWhatItStopped) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor supervisor(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(supervisor.Start().ok());
  ServiceRecord record = *directory_.Load();
  record.supervisor = {};  // it is this test's process, which must not be stopped
  ASSERT_TRUE(directory_.Save(record).ok());
  ContextFile contexts{.current = "state"};
  contexts.contexts["state"] = {.server = record.address, .state_dir = directory_.root()};
  ASSERT_TRUE(SaveContextFile(gpctl_.home() + "/.config/gpctl/config.yaml", contexts).ok());
  const testing::Outcome outcome = gpctl_.Run({"down"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(
      outcome.out,
      fmt::format("Stopped the coordinator (pid {}) and the worker (pid {}) of the service in "
                  "{}. Runs and checkpoints are kept; ./gpctl up --state-dir {} starts it "
                  "again.\n",
                  record.coordinator.pid, record.worker.pid, directory_.root(), directory_.root()));
  EXPECT_FALSE(IsAlive(record.coordinator));
  EXPECT_FALSE(IsAlive(record.worker));
  EXPECT_EQ(gpctl_.Run({"down"}).out, "Nothing runs in " + directory_.root() + ".\n");
}

TEST_F(DownCommandTest, DownLeavesACoordinatorElsewhereAlone) {
  const testing::Outcome outcome = gpctl_.Run({"down", "--server", "node-1:7070"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--state-dir"));
}

TEST_F(DownCommandTest, PurgeAsksAndOnlyTakesItsOwnDirectories) {
  ASSERT_TRUE(directory_.Create().ok());
  EXPECT_EQ(gpctl_.Run({"down", "--purge", "--state-dir", gpctl_.home()}).code, 5);
  { const auto lock = directory_.Lock(); }
  EXPECT_EQ(gpctl_.Run({"down", "--purge", "--state-dir", directory_.root()}).code, 5);
  EXPECT_TRUE(FileExists(directory_.root()));
  EXPECT_EQ(gpctl_.Run({"down", "--purge", "--yes", "--state-dir", directory_.root()}).code, 0);
  EXPECT_FALSE(FileExists(directory_.root()));
  EXPECT_TRUE(FileExists(gpctl_.home()));
}

}  // namespace
}  // namespace gp::gpctl
