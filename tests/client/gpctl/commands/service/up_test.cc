// `up`, and what other commands print about a stopped service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "client/gpctl/service/service_fixture.h"
#include "client/gpctl/session/context_file.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

class ServiceCommandTest : public ServiceFixture {};

TEST_F(ServiceCommandTest, ADaemonThatEndsAtItsStartIsQuotedAndNothingIsLeft) {
  WriteDaemon("gp-coordinator");
  WriteScript(gpctl_.home() + "/gp-worker", "echo 'slots: /dev/cpuset is on fire' >&2\nexit 1\n");
  const testing::Outcome outcome = gpctl_.Run({"up", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/cpuset is on fire"));
  EXPECT_FALSE(IsAlive(directory_.Load()->coordinator));
}

TEST_F(ServiceCommandTest, AMissingProgramIsNamed) {
  const testing::Outcome outcome = gpctl_.Run({"up", "--state-dir", directory_.root()});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("gp-coordinator"));
}

TEST_F(ServiceCommandTest, TheGatewayIsNotReachedFromOtherMachinesWithoutInsecure) {
  const testing::Outcome outcome =
      gpctl_.Run({"up", "--gateway-listen", "0.0.0.0:0", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--insecure"));
  EXPECT_FALSE(FileExists(directory_.root()));
}

TEST_F(ServiceCommandTest, ADataRootThatIsNotThereIsToldBeforeAnythingStarts) {
  const testing::Outcome outcome =
      gpctl_.Run({"up", "--data-root", "absent", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--data-root: "));
  EXPECT_THAT(outcome.err, HasSubstr(gpctl_.home() + "/absent"));
  EXPECT_FALSE(FileExists(directory_.root()));
}

TEST_F(ServiceCommandTest, ADirectoryThatOthersUseIsNotTaken) {
  const std::string shared = gpctl_.home() + "/shared";
  std::filesystem::create_directory(shared);
  std::ofstream(shared + "/notes") << "text";
  std::filesystem::permissions(shared, std::filesystem::perms::all);
  const testing::Outcome outcome = gpctl_.Run({"up", "--state-dir", shared});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("--state-dir"));
  EXPECT_TRUE(OthersMay(shared));
}

TEST_F(ServiceCommandTest, AServiceThatWasStoppedAnswersAtOnceWhateverIsAsked) {
  ASSERT_TRUE(directory_.Create().ok());
  const std::string address = "unix:" + directory_.Socket();
  ASSERT_TRUE(directory_.Save({.address = address}).ok());
  ASSERT_TRUE(
      SaveStateContext(directory_.root(), {.server = address, .state_dir = directory_.root()})
          .ok());
  std::ofstream(gpctl_.home() + "/text") << std::string(50'000, 'x');
  ASSERT_EQ(gpctl_.Run({"init", "run.yaml", "--text", "text"}).code, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"list"},           {"status", "a"}, {"watch", "a"},        {"logs", "a"},
      {"events", "a"},    {"wait", "a"},   {"why", "a"},          {"cancel", "a"},
      {"metrics", "a"},   {"sample", "a"}, {"ckpt", "list", "a"}, {"submit", "run.yaml"},
      {"workers", "list"}};
  for (std::vector<std::string> command : commands) {
    // If the command retried, it would do so for an hour.
    command.insert(command.end(), {"--state-dir", directory_.root(), "--timeout", "1h"});
    const testing::Outcome outcome = gpctl_.Run(command);
    EXPECT_EQ(outcome.code, 6) << command[0];
    EXPECT_EQ(outcome.err, "error: the service in " + directory_.root() +
                               " is stopped; ./gpctl up --state-dir " + directory_.root() +
                               " starts it\n");
  }
}

TEST_F(ServiceCommandTest, TheDoctorNamesAStateDirectoryThatCannotBeMade) {
  const std::string file = gpctl_.home() + "/file";
  std::ofstream(file) << "no directory";
  const testing::Outcome outcome = gpctl_.Run({"doctor", "--state-dir", file + "/a/b"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAIL  state           write in " + file +
                                     ": Not a directory   -> choose a place of your own"));
}

// Makes the test act as another user until it is destroyed.
class OtherUser {
 public:
  explicit OtherUser(uid_t user) { EXPECT_EQ(seteuid(user), 0); }
  ~OtherUser() { EXPECT_EQ(seteuid(0), 0); }
};

TEST_F(ServiceCommandTest, AServiceOfAnotherUserIsSaidToBeTheirs) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as two users";
  ASSERT_TRUE(directory_.Create().ok());
  ASSERT_TRUE(directory_.Save({.address = "unix:" + directory_.Socket()}).ok());
  constexpr uid_t kOwner = 54321, kOther = 54322;
  ASSERT_EQ(chown(directory_.root().c_str(), kOwner, kOwner), 0);
  std::filesystem::permissions(gpctl_.home(), static_cast<std::filesystem::perms>(0755));
  {
    const OtherUser other(kOther);
    EXPECT_THAT(gpctl_.Run({"doctor", "--state-dir", directory_.root()}).out,
                HasSubstr("is not yours: it belongs to user '54321'"));
    EXPECT_THAT(
        gpctl_.Run({"doctor", "--state-dir", gpctl_.home() + "/new"}).out,
        HasSubstr("FAIL  state           write in " + gpctl_.home() + ": Permission denied"));
  }
  for (const char* command : {"down", "list", "up"}) {
    const OtherUser other(kOther);
    const testing::Outcome outcome = gpctl_.Run({command, "--state-dir", directory_.root()});
    EXPECT_EQ(outcome.code, 4) << command;
    EXPECT_THAT(outcome.err, HasSubstr("is not yours: it belongs to user '54321'")) << command;
  }
}

TEST_F(ServiceCommandTest, UpWritesTheContextAndCtrlCStopsEverything) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  gpctl_.interrupt_when_out_contains = "gpctl down";
  const testing::Outcome outcome =
      gpctl_.Run({"up", "--workers", "2", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(service_.address()));
  EXPECT_EQ(LoadStateContext(directory_.root())->server, service_.address());
  gpctl_.interrupt_when_out_contains.clear();
  // Later commands use the same coordinator because of the context.
  EXPECT_EQ(gpctl_.Run({"list"}).code, 0);
  EXPECT_EQ(gpctl_.Run({"list", "--state-dir", directory_.root()}).code, 0);
  EXPECT_EQ(gpctl_.Run({"down", "--state-dir", directory_.root()}).code, 0);
}

TEST_F(ServiceCommandTest, UpWithAdoptIsRefusedWhileAServiceRuns) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor supervisor(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(supervisor.Start().ok());
  ASSERT_TRUE(supervisor.Announce().ok());
  EXPECT_EQ(gpctl_.Run({"up", "--state-dir", directory_.root()}).code, 0);
  const testing::Outcome outcome = gpctl_.Run({"up", "--adopt", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 5) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("a service already runs in " + directory_.root()));
  EXPECT_THAT(outcome.err, HasSubstr("gpctl down"));
  EXPECT_THAT(outcome.err, HasSubstr("stops it, then it can start with --adopt"));
  interruption.Request();
  supervisor.Run();
}

TEST_F(ServiceCommandTest, UpStartsTheGatewayWithTheRestAndTellsItsAddress) {
  for (const char* name : {"gp-coordinator", "gp-worker", "gp-gateway"}) WriteDaemon(name);
  gpctl_.interrupt_when_out_contains = "gpctl down";
  const testing::Outcome outcome = gpctl_.Run(
      {"up", "--state-dir", directory_.root(), "--gateway-listen", "0.0.0.0:0", "--insecure"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("gateway      http://" + service_.address() +
                                     "   playground /, runs /runs\n"));
  EXPECT_THAT(ArgumentsOf("gp-gateway"),
              HasSubstr("--coordinator " + service_.address() + " --listen 0.0.0.0:0 "));
  EXPECT_THAT(ArgumentsOf("gp-gateway"), HasSubstr("--insecure"));
  EXPECT_FALSE(IsAlive(directory_.Load()->gateway)) << "it was stopped with the rest";
}

TEST_F(ServiceCommandTest, UpGoesOnWithoutAGatewayAndSaysWhy) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  const auto up = [this](std::vector<std::string> more) {
    gpctl_.interrupt_when_out_contains = "gpctl down";
    more.insert(more.begin(), {"up", "--state-dir", directory_.root()});
    return gpctl_.Run(more);
  };
  EXPECT_THAT(up({}).out, HasSubstr("gateway      not running: " + gpctl_.home() +
                                    "/gp-gateway is missing; 'make programs' builds it\n"));
  WriteScript(gpctl_.home() + "/gp-gateway", "echo 'no port is free' >&2\nexit 1\n");
  const testing::Outcome broken = up({});
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_THAT(broken.out, HasSubstr("no port is free"));
  EXPECT_THAT(up({"--no-gateway"}).out, HasSubstr("switched off by --no-gateway"));
  EXPECT_EQ(gpctl_.Run({"up", "--no-gateway", "--gateway-listen", "127.0.0.1:0"}).code, 2);
  EXPECT_EQ(gpctl_.Run({"up", "--gateway-listen", "0.0.0.0:0"}).code, 2) << "without --insecure";
}

}  // namespace
}  // namespace gp::gpctl
