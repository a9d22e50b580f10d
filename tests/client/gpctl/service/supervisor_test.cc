#include "client/gpctl/service/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "client/gpctl/service/path_guard.h"
#include "client/gpctl/service/service_fixture.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SupervisorTest : public ServiceFixture {};

TEST_F(SupervisorTest, GatewayAndWorkerStopTogetherAndTheCoordinatorLast) {
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

TEST_F(SupervisorTest, WhatADeadSupervisorLeftStopsInTheSameOrder) {
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

TEST_F(SupervisorTest, TheSupervisorRevivesADaemonThatWasKilled) {
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

TEST_F(SupervisorTest, ASupervisorAdoptsWhatAnotherLeftRunning) {
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

TEST_F(SupervisorTest, AKilledGatewayIsRevivedAndANewSupervisorAdoptsIt) {
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

TEST_F(SupervisorTest, TheCoordinatorServesOnASocketUnlessToldOtherwise) {
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

TEST_F(SupervisorTest, TrainersMeetThoseOfOtherNodesWhereTheCoordinatorListens) {
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

TEST_F(SupervisorTest, DataRootsAreTheWorkers) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  SupervisorOptions options = Options();
  options.data_roots = {"/srv/a", "/srv/b"};
  RunOnce(options);
  EXPECT_THAT(ArgumentsOf("gp-worker"), HasSubstr("--data-root /srv/a --data-root /srv/b"));
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), Not(HasSubstr("--data-root")));
  EXPECT_EQ(directory_.Load()->data_roots, options.data_roots);
  RunOnce(Options());
  EXPECT_THAT(ArgumentsOf("gp-worker"), Not(HasSubstr("--data-root")));
}

TEST_F(SupervisorTest, AnAdoptedWorkerKeepsItsDataRootsUntilItStartsAgain) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  SupervisorOptions options = Options();
  options.data_roots = {"/srv/a"};
  Supervisor killed(directory_, options, interruption, [](const std::string&) {});
  ASSERT_TRUE(killed.Start().ok());
  options.data_roots = {"/srv/b"};
  Supervisor next(directory_, options, interruption, [](const std::string&) {});
  ASSERT_TRUE(next.Start().ok());
  EXPECT_EQ(next.record().worker, killed.record().worker);
  EXPECT_EQ(next.record().data_roots, std::vector<std::string>{"/srv/a"});
  EXPECT_EQ(directory_.Load()->data_roots, std::vector<std::string>{"/srv/a"});
  interruption.Request();
  next.Run();
  RunOnce(options);
  EXPECT_EQ(directory_.Load()->data_roots, std::vector<std::string>{"/srv/b"});
}

TEST_F(SupervisorTest, AFailedStartQuotesWhatThisStartWrote) {
  ASSERT_TRUE(directory_.Create().ok());
  const auto start = [this] {
    client::Interruption interruption;
    return Message(
        Supervisor(directory_, Options(), interruption, [](const std::string&) {}).Start());
  };
  WriteScript(gpctl_.home() + "/gp-coordinator", "echo 'the first reason' >&2\nexit 1\n");
  EXPECT_THAT(start(), HasSubstr("the first reason"));
  WriteScript(gpctl_.home() + "/gp-coordinator", "echo 'the second reason' >&2\nexit 1\n");
  const std::string second = start();
  EXPECT_THAT(second, HasSubstr("the second reason"));
  EXPECT_THAT(second, Not(HasSubstr("the first reason")));
  WriteScript(gpctl_.home() + "/gp-coordinator", "exit 1\n");
  EXPECT_THAT(start(), HasSubstr("it wrote nothing"));
}

TEST_F(SupervisorTest, APrometheusThatDoesNotStartLeavesTheServiceUpWithTheReason) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  WriteScript(gpctl_.home() + "/prometheus", "echo 'no space for the data' >&2\nexit 1\n");
  ASSERT_TRUE(directory_.Create().ok());
  const PathGuard path(gpctl_.home() + ":" + std::getenv("PATH"));
  client::Interruption interruption;
  Supervisor killed(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(killed.Start().ok());
  EXPECT_EQ(killed.record().monitoring_problem, "") << "none is wanted";
  SupervisorOptions options = Options();
  options.monitoring = true;
  Supervisor next(directory_, options, interruption, [](const std::string&) {});
  const Status started = next.Start();
  EXPECT_TRUE(started.ok()) << started;
  EXPECT_EQ(next.record().coordinator, killed.record().coordinator);
  EXPECT_TRUE(IsAlive(killed.record().coordinator));
  EXPECT_TRUE(IsAlive(killed.record().worker));
  EXPECT_THAT(directory_.Load()->monitoring_problem, HasSubstr("no space for the data"));
  interruption.Request();
  next.Run();
  EXPECT_FALSE(IsAlive(killed.record().coordinator));
}

TEST_F(SupervisorTest, AFailedStartStopsWhatItStartedAndNotWhatRanBefore) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  ASSERT_TRUE(directory_.Create().ok());
  client::Interruption interruption;
  Supervisor killed(directory_, Options(), interruption, [](const std::string&) {});
  ASSERT_TRUE(killed.Start().ok());
  const ServiceRecord before = killed.record();
  kill(before.worker.pid, SIGKILL);
  ASSERT_TRUE(Eventually([&] {
    ReapChildren();
    return !IsAlive(before.worker);
  }));
  WriteScript(gpctl_.home() + "/gp-worker", "echo 'no cores' >&2\nexit 1\n");
  Supervisor next(directory_, Options(), interruption, [](const std::string&) {});
  EXPECT_THAT(Message(next.Start()), HasSubstr("no cores"));
  EXPECT_TRUE(IsAlive(before.coordinator));
  EXPECT_EQ(directory_.Load()->coordinator, before.coordinator) << "'gpctl down' can stop it";
  EXPECT_EQ(directory_.Load()->worker.pid, 0);
  ASSERT_TRUE(StopService(directory_).ok());
  EXPECT_FALSE(IsAlive(before.coordinator));
}

TEST_F(SupervisorTest, TheStorageStaysWhereItWasUntilAnotherPlaceIsNamed) {
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
  // Another storage is refused by the coordinator, not by gpctl.
  WriteScript(gpctl_.home() + "/gp-coordinator", "echo 'not my storage' >&2\nexit 1\n");
  options.storage_root = gpctl_.home() + "/elsewhere";
  client::Interruption interruption;
  const Status refused =
      Supervisor(directory_, options, interruption, [](const std::string&) {}).Start();
  EXPECT_THAT(Message(refused), HasSubstr("not my storage"));
  EXPECT_EQ(directory_.Load()->storage_root, gpctl_.home() + "/shared");
  EXPECT_FALSE(FileExists(options.storage_root)) << "nothing is made in a mount point";
  WriteDaemon("gp-coordinator");
  options.adopt = true;
  RunOnce(options);
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), HasSubstr("--storage-root " + options.storage_root));
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), HasSubstr("--adopt"));
  RunOnce(Options());
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), HasSubstr("--storage-root " + options.storage_root));
  EXPECT_THAT(ArgumentsOf("gp-coordinator"), Not(HasSubstr("--adopt"))) << "it is for one start";
}

}  // namespace
}  // namespace gp::gpctl
