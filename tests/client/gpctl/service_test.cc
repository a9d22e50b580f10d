// Processes, the supervisor and `up`/`down`, with small shell scripts in the place of the daemons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/eventually.h"
#include "client/fake_run_service.h"
#include "client/gpctl/context_file.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/service/program_run.h"

namespace gp::gpctl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

void WriteScript(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

bool OthersMay(const std::string& path) {
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  return (std::filesystem::status(path).permissions() & others) != std::filesystem::perms::none;
}

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : directory_(gpctl_.home() + "/state") {
    v1::Node node;
    node.set_connected(true);
    node.add_slots()->set_slot_id("cpu0");
    node.add_slots()->set_slot_id("cpu1");
    service_.AddNode(node);
  }

  // The arguments that the daemon of this name was last started with.
  std::string ArgumentsOf(const std::string& name) const {
    return ReadFile(gpctl_.home() + "/" + name + ".arguments").value_or("");
  }

  // Starts and stops a service with `options`.
  void RunOnce(const SupervisorOptions& options) {
    client::Interruption interruption;
    Supervisor supervisor(directory_, options, interruption, [](const std::string&) {});
    const Status started = supervisor.Start();
    ASSERT_TRUE(started.ok()) << started;
    interruption.Request();
    supervisor.Run();
  }

  // A daemon that serves at the fake coordinator's address and lives until it is told to end.
  void WriteDaemon(const std::string& name, const std::string& before = "",
                   const std::string& on_term = "") {
    WriteScript(
        gpctl_.home() + "/" + name,
        before + "echo \"$@\" >\"$0.arguments\"\n" +
            "while [ $# -gt 0 ]; do [ \"$1\" = --address-file ] && file=$2; shift; done\n" +
            "echo '{\"address\": \"" + service_.address() +
            "\", \"metrics\": \"127.0.0.1:9\", \"pid\": '$$'}' >$file.new\nmv $file.new $file\n" +
            "echo started >&2\ntrap '" + on_term + "exit 0' TERM\nwhile :; do sleep 0.02; done\n");
  }

  // One that ends once the other has been told to end as well, and says that it did.
  void WriteDaemonThatAwaits(const std::string& name, const std::string& other) {
    WriteDaemon(name, "",
                fmt::format("touch $0.told; while [ ! -e {}/{}.told ]; do sleep 0.02; done; "
                            "touch $0.ended; ",
                            gpctl_.home(), other));
  }
  bool Exists(const std::string& name) const { return FileExists(gpctl_.home() + "/" + name); }

  SupervisorOptions Options() const {
    return {.program_directory = gpctl_.home(),
            .workers = 2,
            .start_timeout = std::chrono::seconds(10),
            .stop_grace = std::chrono::seconds(5)};
  }

  testing::FakeRunService service_;
  testing::GpctlRunner gpctl_;
  ServiceDirectory directory_;
};

TEST_F(ServiceTest, AProcessIsKnownByMoreThanItsNumber) {
  const auto self = IdentifyProcess(getpid());
  ASSERT_TRUE(self.ok());
  EXPECT_TRUE(IsAlive(*self));
  ProcessIdentity other = *self;
  ++other.start_time;
  EXPECT_FALSE(IsAlive(other));
  other = *self;
  other.program = "/bin/other";
  EXPECT_FALSE(IsAlive(other));
  EXPECT_FALSE(IsAlive({}));
  // Must not end this test's own process.
  EXPECT_TRUE(StopProcess(other, milliseconds(10)).ok());
}

TEST_F(ServiceTest, SpawningTellsWhyAProgramCannotStart) {
  const auto missing = SpawnDetached({.program = "/no/such/program"});
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  std::ofstream(gpctl_.home() + "/plain") << "text";
  EXPECT_EQ(SpawnDetached({.program = gpctl_.home() + "/plain"}).status().code(),
            StatusCode::kPermissionDenied);
}

TEST_F(ServiceTest, FilesOfASpawnedProgramAreItsUsersAlone) {
  ASSERT_TRUE(SpawnDetached(
                  {.program = "/bin/sh",
                   .arguments = {"-c", "cd " + gpctl_.home() + " && mkdir d && echo text >d/file"}})
                  .ok());
  const std::string path = gpctl_.home() + "/d/file";
  ASSERT_TRUE(Eventually([&] { return FileSize(path).value_or(0) > 0; }));
  EXPECT_FALSE(OthersMay(path));
  EXPECT_FALSE(OthersMay(gpctl_.home() + "/d"));
}

TEST_F(ServiceTest, AProcessThatIgnoresTermIsKilled) {
  WriteScript(gpctl_.home() + "/stubborn",
              "trap '' TERM\necho ready\nwhile :; do sleep 0.02; done\n");
  const std::string log = gpctl_.home() + "/log";
  const auto process = SpawnDetached({.program = gpctl_.home() + "/stubborn", .log_path = log});
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(Eventually([&] { return FileSize(log).value_or(0) > 0; }));
  EXPECT_TRUE(StopProcess(*process, milliseconds(50)).ok());
  EXPECT_FALSE(IsAlive(*process));
}

TEST_F(ServiceTest, RunProgramReadsOutputAndExitCode) {
  WriteScript(gpctl_.home() + "/talker", "echo \"$1 $2\"; exit 7\n");
  client::Interruption interruption;
  std::string output;
  const auto code = RunProgram({.program = gpctl_.home() + "/talker", .arguments = {"a b", "c"}},
                               interruption, [&](const std::string& piece) { output += piece; });
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(*code, 7);
  EXPECT_EQ(output, "a b c\n");
  EXPECT_EQ(RunProgram({.program = "/no/such"}, interruption, {}).status().code(),
            StatusCode::kNotFound);
}

TEST_F(ServiceTest, GatewayAndWorkerStopTogetherAndTheCoordinatorLast) {
  WriteDaemonThatAwaits("gp-worker", "gp-gateway");
  WriteDaemonThatAwaits("gp-gateway", "gp-worker");
  WriteDaemon("gp-coordinator", "",
              fmt::format("[ -e {0}/gp-worker.ended ] && [ -e {0}/gp-gateway.ended ] && "
                          "touch $0.ended; ",
                          gpctl_.home()));
  ASSERT_TRUE(directory_.Create().ok());
  RunOnce(Options());
  EXPECT_TRUE(Exists("gp-worker.ended")) << "it was killed while it waited for the gateway's turn";
  EXPECT_TRUE(Exists("gp-gateway.ended"));
  EXPECT_TRUE(Exists("gp-coordinator.ended")) << "it was told before the others had ended";
}

TEST_F(ServiceTest, WhatADeadSupervisorLeftStopsInTheSameOrder) {
  WriteDaemonThatAwaits("gp-worker", "gp-gateway");
  WriteDaemonThatAwaits("gp-gateway", "gp-worker");
  WriteDaemon("gp-coordinator");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor supervisor(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(supervisor.Start().ok());
  ServiceRecord record = supervisor.record();
  record.supervisor = {};
  ASSERT_TRUE(directory_.Save(record).ok());
  ASSERT_TRUE(StopService(directory_).ok());
  EXPECT_TRUE(Exists("gp-worker.ended"));
  EXPECT_TRUE(Exists("gp-gateway.ended"));
  EXPECT_FALSE(IsAlive(record.coordinator));
}

TEST_F(ServiceTest, TheSupervisorRevivesADaemonThatWasKilled) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor supervisor(directory_, Options(), interruption, [](const std::string&) {});
  const Status started = supervisor.Start();
  ASSERT_TRUE(started.ok()) << started;
  std::thread running([&] { supervisor.Run(); });
  const ProcessIdentity first = directory_.Load()->coordinator;
  kill(first.pid, SIGKILL);
  EXPECT_TRUE(Eventually([&] {
    const auto record = directory_.Load();
    return record.ok() && record->coordinator.pid != first.pid && IsAlive(record->coordinator);
  }));
  const ServiceRecord last = *directory_.Load();
  interruption.Request();
  running.join();
  EXPECT_FALSE(IsAlive(last.coordinator));
  EXPECT_FALSE(IsAlive(last.worker));
  EXPECT_FALSE(directory_.Load()->ready);
}

TEST_F(ServiceTest, ASupervisorAdoptsWhatAnotherLeftRunning) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor killed(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(killed.Start().ok());
  Supervisor next(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(next.Start().ok());
  EXPECT_EQ(next.record().coordinator, killed.record().coordinator);
  EXPECT_EQ(next.record().worker, killed.record().worker);
  interruption.Request();
  next.Run();
}

TEST_F(ServiceTest, ADaemonThatEndsAtItsStartIsQuotedAndNothingIsLeft) {
  WriteDaemon("gp-coordinator");
  WriteScript(gpctl_.home() + "/gp-worker", "echo 'slots: /dev/cpuset is on fire' >&2\nexit 1\n");
  const testing::Outcome outcome = gpctl_.Run({"up", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/cpuset is on fire"));
  EXPECT_FALSE(IsAlive(directory_.Load()->coordinator));
}

TEST_F(ServiceTest, AMissingProgramIsNamed) {
  const testing::Outcome outcome = gpctl_.Run({"up", "--state-dir", directory_.root()});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("gp-coordinator"));
}

TEST_F(ServiceTest, TheCoordinatorServesOnASocketUnlessToldOtherwise) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  RunOnce(Options());
  const std::string socket = "--socket " + directory_.root() + "/coordinator.sock ";
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), HasSubstr(socket));
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), Not(HasSubstr("--listen ")));
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), Not(HasSubstr("--insecure")));
  EXPECT_THAT(ArgumentsOf("gp-worker"), HasSubstr("--coordinator " + service_.address()));
  SupervisorOptions options = Options();
  options.listen = "0.0.0.0:7070";
  options.insecure = true;
  RunOnce(options);
  EXPECT_THAT(ArgumentsOf("gp-coordinator"),
              HasSubstr(socket + "--listen 0.0.0.0:7070 --insecure"));
  RunOnce(Options());
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), Not(HasSubstr("--listen "))) << "it is private again";
}

TEST_F(ServiceTest, TrainersMeetThoseOfOtherNodesWhereTheCoordinatorListens) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  RunOnce(Options());
  EXPECT_THAT(ArgumentsOf("gp-worker"), Not(HasSubstr("--data-address")));
  SupervisorOptions options = Options();
  options.listen = "10.1.2.3:7070";
  RunOnce(options);
  EXPECT_THAT(ArgumentsOf("gp-worker"), HasSubstr("--data-address 10.1.2.3"));
  options.listen = "127.0.0.1:0";
  RunOnce(options);
  EXPECT_THAT(ArgumentsOf("gp-worker"), Not(HasSubstr("--data-address")));
}

TEST_F(ServiceTest, TheStorageStaysWhereTheServiceBegan) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  SupervisorOptions options = Options();
  options.storage_root = gpctl_.home() + "/shared";
  RunOnce(options);
  const std::string flag = "--storage-root " + options.storage_root + " ";
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), HasSubstr(flag));
  EXPECT_THAT(ArgumentsOf("gp-worker"), HasSubstr(flag));
  RunOnce(Options());
  EXPECT_THAT(ArgumentsOf("gp-worker"), HasSubstr(flag))
      << "also when the next start does not name it";
  options.storage_root = gpctl_.home() + "/elsewhere";
  client::Interruption interruption;
  const Status moved =
      Supervisor(directory_, options, interruption, [](const std::string&) {}).Start();
  EXPECT_EQ(moved.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(moved), HasSubstr("cannot move to " + options.storage_root));
}

TEST_F(ServiceTest, TheGatewayIsNotReachedFromOtherMachinesWithoutInsecure) {
  const testing::Outcome outcome =
      gpctl_.Run({"up", "--gateway-listen", "0.0.0.0:0", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--insecure"));
  EXPECT_FALSE(FileExists(directory_.root()));
}

TEST_F(ServiceTest, UpClosesItsDirectoryToOtherUsers) {
  std::filesystem::create_directory(directory_.root());
  std::filesystem::permissions(directory_.root(), std::filesystem::perms::all);
  ASSERT_TRUE(directory_.Create().ok());
  EXPECT_FALSE(OthersMay(directory_.root()));
}

TEST_F(ServiceTest, ADirectoryThatOthersUseIsNotTaken) {
  const std::string shared = gpctl_.home() + "/shared";
  std::filesystem::create_directory(shared);
  std::ofstream(shared + "/notes") << "text";
  std::filesystem::permissions(shared, std::filesystem::perms::all);
  const testing::Outcome outcome = gpctl_.Run({"up", "--state-dir", shared});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("--state-dir"));
  EXPECT_TRUE(OthersMay(shared));
}

TEST_F(ServiceTest, AServiceThatWasStoppedAnswersAtOnceWhateverIsAsked) {
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
    // A client that tries again would do so for an hour.
    command.insert(command.end(), {"--state-dir", directory_.root(), "--timeout", "1h"});
    const testing::Outcome outcome = gpctl_.Run(command);
    EXPECT_EQ(outcome.code, 6) << command[0];
    EXPECT_EQ(outcome.err, "error: the service in " + directory_.root() +
                               " is stopped; ./gpctl up --state-dir " + directory_.root() +
                               " starts it\n");
  }
}

TEST_F(ServiceTest, DownFollowsTheContextAndNamesWhatItStopped) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor supervisor(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(supervisor.Start().ok());
  ServiceRecord record = *directory_.Load();
  record.supervisor = {};  // this test, which must not be ended
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

TEST_F(ServiceTest, DownLeavesACoordinatorElsewhereAlone) {
  const testing::Outcome outcome = gpctl_.Run({"down", "--server", "node-1:7070"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--state-dir"));
}

// Acts as another user while it lives.
class OtherUser {
 public:
  explicit OtherUser(uid_t user) { EXPECT_EQ(seteuid(user), 0); }
  ~OtherUser() { EXPECT_EQ(seteuid(0), 0); }
};

TEST_F(ServiceTest, AServiceOfAnotherUserIsSaidToBeTheirs) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as two users";
  ASSERT_TRUE(directory_.Create().ok());
  ASSERT_TRUE(directory_.Save({.address = "unix:" + directory_.Socket()}).ok());
  constexpr uid_t kOwner = 54321, kOther = 54322;
  ASSERT_EQ(chown(directory_.root().c_str(), kOwner, kOwner), 0);
  std::filesystem::permissions(gpctl_.home(), static_cast<std::filesystem::perms>(0755));
  for (const char* command : {"down", "list", "up"}) {
    const OtherUser other(kOther);
    const testing::Outcome outcome = gpctl_.Run({command, "--state-dir", directory_.root()});
    EXPECT_EQ(outcome.code, 4) << command;
    EXPECT_THAT(outcome.err, HasSubstr("is not yours: it belongs to user '54321'")) << command;
  }
}

TEST_F(ServiceTest, UpWritesTheContextAndCtrlCStopsEverything) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  gpctl_.interrupt_when_out_contains = "gpctl down";
  const testing::Outcome outcome =
      gpctl_.Run({"up", "--workers", "2", "--state-dir", directory_.root()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(service_.address()));
  EXPECT_EQ(LoadStateContext(directory_.root())->server, service_.address());
  gpctl_.interrupt_when_out_contains.clear();
  // The context leads later commands to the same coordinator.
  EXPECT_EQ(gpctl_.Run({"list"}).code, 0);
  EXPECT_EQ(gpctl_.Run({"list", "--state-dir", directory_.root()}).code, 0);
  EXPECT_EQ(gpctl_.Run({"down", "--state-dir", directory_.root()}).code, 0);
}

TEST_F(ServiceTest, UpStartsTheGatewayWithTheRestAndTellsItsAddress) {
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

TEST_F(ServiceTest, AKilledGatewayIsRevivedAndANewSupervisorAdoptsIt) {
  for (const char* name : {"gp-coordinator", "gp-worker", "gp-gateway"}) WriteDaemon(name);
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor supervisor(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(supervisor.Start().ok());
  std::thread running([&] { supervisor.Run(); });
  const ProcessIdentity first = directory_.Load()->gateway;
  kill(first.pid, SIGKILL);
  EXPECT_TRUE(Eventually([&] {
    const auto record = directory_.Load();
    return record.ok() && record->gateway.pid != first.pid && IsAlive(record->gateway);
  }));
  client::Interruption other;
  Supervisor next(directory_, Options(), other, [](const std::string&) {});
  ASSERT_TRUE(next.Start().ok());
  EXPECT_EQ(next.record().gateway, directory_.Load()->gateway);
  interruption.Request();
  running.join();
  EXPECT_FALSE(IsAlive(next.record().gateway));
}

TEST_F(ServiceTest, UpGoesOnWithoutAGatewayAndSaysWhy) {
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

TEST_F(ServiceTest, ARecordOfAnOlderVersionHasNoGateway) {
  ASSERT_TRUE(directory_.Create().ok());
  ASSERT_TRUE(directory_.Save({.address = "127.0.0.1:1", .gateway_address = "127.0.0.1:2"}).ok());
  const std::string path = directory_.Path("service.json");
  auto json = nlohmann::json::parse(*ReadFile(path));
  for (const char* key : {"gateway", "gateway_address", "gateway_metrics", "gateway_problem"}) {
    ASSERT_EQ(json.erase(key), 1u) << key;
  }
  std::ofstream(path) << json.dump();
  const auto record = directory_.Load();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->gateway.pid, 0);
  EXPECT_EQ(record->gateway_address, "");
}

TEST_F(ServiceTest, PurgeAsksAndOnlyTakesItsOwnDirectories) {
  ASSERT_TRUE(directory_.Create().ok());
  EXPECT_EQ(gpctl_.Run({"down", "--purge", "--state-dir", gpctl_.home()}).code, 5);
  { const auto lock = directory_.Lock(); }
  EXPECT_EQ(gpctl_.Run({"down", "--purge", "--state-dir", directory_.root()}).code, 5);
  EXPECT_TRUE(FileExists(directory_.root()));
  EXPECT_EQ(gpctl_.Run({"down", "--purge", "--yes", "--state-dir", directory_.root()}).code, 0);
  EXPECT_FALSE(FileExists(directory_.root()));
  EXPECT_TRUE(FileExists(gpctl_.home()));
}

TEST_F(ServiceTest, ADirectoryIsSupervisedOnce) {
  ASSERT_TRUE(directory_.Create().ok());
  const auto lock = directory_.Lock();
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(directory_.Lock().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(ServiceTest, ADamagedRecordIsToldNotTrusted) {
  ASSERT_TRUE(directory_.Create().ok());
  ASSERT_TRUE(directory_.Save({.address = "127.0.0.1:1", .workers = 2}).ok());
  const std::string path = directory_.Path("service.json");
  const std::string text = *ReadFile(path);
  for (size_t size = 0; size < text.size() - 2; ++size) {
    std::ofstream(path, std::ios::trunc) << text.substr(0, size);
    EXPECT_EQ(directory_.Load().status().code(), StatusCode::kDataLoss) << size;
  }
}

}  // namespace
}  // namespace gp::gpctl
