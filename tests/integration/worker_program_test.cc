// gp-worker as a program: messages and exit codes when it cannot start.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/random_id.h"
#include "integration/cluster.h"

namespace gp::testing {
namespace {

class WorkerProgram : public ::testing::Test {
 protected:
  WorkerProgram() { std::filesystem::create_directories(directory_); }
  ~WorkerProgram() override { std::filesystem::remove_all(directory_); }

  std::vector<std::string> Arguments(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {std::string(std::getenv("GP_BIN")) + "/gp-worker",
                                          "--state-dir",
                                          directory_ + "/state",
                                          "--storage-root",
                                          directory_,
                                          "--coordinator",
                                          "unix:" + directory_ + "/none.sock"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string log_path() const { return directory_ + "/log"; }
  // Runs gp-worker; returns its exit code and its output.
  std::pair<int, std::string> Run(const std::vector<std::string>& more) {
    Process process(Arguments(more), {}, log_path());
    const int code = process.Wait(kPatience).value_or(-1000);
    return {code, ReadFile(log_path()).value_or("")};
  }

  const std::string directory_ = ::testing::TempDir() + "worker_program_" + RandomId(8);
};

TEST_F(WorkerProgram, APortInUseIsNamedAndExitsOne) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  FileDescriptor taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken.get(), 1), 0);
  getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const std::string listen = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto [code, output] = Run({"--metrics-listen", listen});
  EXPECT_EQ(code, 1);
  EXPECT_NE(output.find(listen), std::string::npos) << output;
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
}

TEST_F(WorkerProgram, ADamagedIdentityIsNamedAndExitsOne) {
  std::filesystem::create_directories(directory_ + "/state");
  ASSERT_TRUE(WriteFileAtomically(directory_ + "/state/node_id", "??").ok());
  const auto [code, output] = Run({"--metrics-listen", "127.0.0.1:0"});
  EXPECT_EQ(code, 1);
  EXPECT_NE(output.find("/state/node_id"), std::string::npos) << output;
}

TEST_F(WorkerProgram, AStateDirectoryThatCannotBeMadeIsNamedAndExitsOne) {
  ASSERT_TRUE(WriteFileAtomically(directory_ + "/state", "a file").ok());
  const auto [code, output] = Run({"--metrics-listen", "127.0.0.1:0"});
  EXPECT_EQ(code, 1);
  EXPECT_NE(output.find("/state is not a directory"), std::string::npos) << output;
}

TEST_F(WorkerProgram, AWrongSettingIsLocatedAndExitsTwo) {
  const std::string config = directory_ + "/worker.yaml";
  ASSERT_TRUE(WriteFileAtomically(config, "node: {slots: many}\n").ok());
  const auto [code, output] = Run({"--config", config});
  EXPECT_EQ(code, 2);
  EXPECT_NE(output.find("worker.yaml:1:15"), std::string::npos) << output;
}

TEST_F(WorkerProgram, TheShippedSettingsAreGood) {
  const std::string config = std::string(std::getenv("GP_SOURCE")) + "/configs/worker.yaml";
  EXPECT_EQ(Run({"--config", config, "--check-config"}).first, 0);
}

TEST_F(WorkerProgram, ASecondAgentOnOneStateDirectoryIsRefused) {
  Process first(Arguments({"--metrics-listen", "127.0.0.1:0"}), {}, directory_ + "/first.log");
  ASSERT_TRUE(Eventually([&] {
    return ReadFile(directory_ + "/first.log").value_or("").find("worker started") !=
           std::string::npos;
  }));
  const auto [code, output] = Run({"--metrics-listen", "127.0.0.1:0"});
  EXPECT_EQ(code, 1);
  EXPECT_NE(output.find("in use by another gp-worker"), std::string::npos) << output;
}

TEST_F(WorkerProgram, ServesItsMetrics) {
  Cluster cluster({.trainer = std::getenv("GP_FAKE_TRAINER")});
  ASSERT_TRUE(WriteFileAtomically(cluster.directory() + "/text.txt", "some text\n").ok());
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 3});
  const std::string id = cluster.Submit(FakeRun(2, 1'000'000, "fake-step-ms: '1'"));
  cluster.WaitForStep(id, 5);
  const std::string text = cluster.Metrics("node-a");
  for (const char* line :
       {"gp_worker_slots{state=\"free\"} 1\n", "gp_worker_slots{state=\"busy\"} 2\n",
        "gp_worker_trainer_starts_total 2\n", "gp_worker_coordinator_connected 1\n",
        "gp_worker_step_duration_seconds_bucket"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "not in\n" << text;
  }
}

TEST_F(WorkerProgram, AnotherSpellingOfTheStorageRootIsTheSamePlace) {
  Cluster cluster({.trainer = std::getenv("GP_FAKE_TRAINER")});
  ASSERT_TRUE(WriteFileAtomically(cluster.directory() + "/text.txt", "some text\n").ok());
  cluster.StartCoordinator();
  const std::filesystem::path root = cluster.storage_root();
  const std::string relative = std::filesystem::relative(root, std::filesystem::current_path());
  for (const std::string& spelling :
       {relative, root.string() + "/../" + root.filename().string()}) {
    cluster.LaunchWorker("node-a", {.storage_root = spelling});
    const std::string id = cluster.Submit(FakeRun(1, 10));
    cluster.WaitFor(id, [](const v1::Run& now) { return now.state() == v1::RUN_STATE_SUCCEEDED; });
    cluster.worker("node-a").Kill();
  }
}

TEST_F(WorkerProgram, ANodeThatSeesAnotherStorageIsNotUsedAndTheRunSaysSo) {
  Cluster cluster({.trainer = std::getenv("GP_FAKE_TRAINER")});
  ASSERT_TRUE(WriteFileAtomically(cluster.directory() + "/text.txt", "some text\n").ok());
  cluster.StartCoordinator();
  cluster.LaunchWorker("node-a", {.storage_root = directory_});
  const std::string id = cluster.Submit(FakeRun(1, 10));
  const v1::Run run = cluster.WaitFor(
      id, [](const v1::Run& now) { return now.reason().find("storage") != std::string::npos; });
  EXPECT_EQ(run.state(), v1::RUN_STATE_QUEUED);
}

}  // namespace
}  // namespace gp::testing
