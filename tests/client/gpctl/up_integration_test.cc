// `gpctl up --detach` and `down` with the real coordinator and agent, and the fake trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "client/gpctl/service/process.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/service/service_directory.h"
#include "lib/base/eventually.h"

namespace gp::gpctl {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;
};

class UpTest : public ::testing::Test {
 protected:
  UpTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpctl-up-XXXXXX").string();
    home_ = mkdtemp(pattern.data());
    setenv("HOME", home_.c_str(), 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("GPCTL_SERVER");
  }
  ~UpTest() override {
    Gpctl({"down", "--state-dir", State("a")});
    Gpctl({"down", "--state-dir", State("b")});
    Gpctl({"down", "--state-dir", State("a dir's")});
    Gpctl({"down", "--state-dir", State(".local/state/gp")});
    std::filesystem::remove_all(home_);
  }

  // Runs `command` in a shell in the home directory. Returns its output on both streams.
  Result Shell(const std::string& command) {
    client::Interruption interruption;
    Result result;
    const auto code = RunProgram(
        {.program = "/bin/sh", .arguments = {"-c", "cd " + home_ + "; exec 2>&1; " + command}},
        interruption, [&result](const std::string& piece) { result.out += piece; });
    result.code = code.value_or(-1);
    return result;
  }

  std::string State(const std::string& name) const { return home_ + "/" + name; }

  Result Gpctl(const std::vector<std::string>& arguments) {
    client::Interruption interruption;
    Result result;
    const auto code =
        RunProgram({.program = JoinPath(std::getenv("GP_BIN"), "gpctl"), .arguments = arguments},
                   interruption, [&result](const std::string& piece) { result.out += piece; });
    result.code = code.value_or(-1);
    return result;
  }

  Result Up(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"up",        "--detach",      "--workers",   "2",
                                          "--trainer", GP_FAKE_TRAINER, "--state-dir", State(name),
                                          "-o",        "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Gpctl(arguments);
  }

  std::string home_;
};

// The commands that gpctl's output suggests after `label`, one per line.
std::vector<std::string> Hints(const std::string& output, const std::string& label) {
  constexpr size_t kIndent = 13;
  std::vector<std::string> hints;
  bool inside = false;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::string head = line.substr(0, kIndent);
    if (head.find_first_not_of(' ') != std::string::npos) inside = head.starts_with(label + " ");
    if (inside && line.size() > kIndent) hints.push_back(line.substr(kIndent));
  }
  return hints;
}

// The TCP ports on which `pid` listens.
std::set<int> ListeningPorts(int pid) {
  std::set<std::string> sockets;
  const std::string process = "/proc/" + std::to_string(pid);
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    std::error_code gone;
    sockets.insert(std::filesystem::read_symlink(entry, gone).string());
  }
  std::set<int> ports;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::istringstream lines(ReadFile(process + table).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
      constexpr size_t kLocal = 1, kState = 3, kInode = 9;  // proc_pid_net(5)
      if (words.size() <= kInode || words[kState] != "0A") continue;
      if (!sockets.contains("socket:[" + words[kInode] + "]")) continue;
      ports.insert(std::stoi(words[kLocal].substr(words[kLocal].rfind(':') + 1), nullptr, 16));
    }
  }
  return ports;
}

int PortOf(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

TEST_F(UpTest, WhatIsPrintedToTypeNextWorksInAShell) {
  const std::string up = JoinPath(std::getenv("GP_BIN"), "gpctl") +
                         " up --detach --workers 2 --trainer " + GP_FAKE_TRAINER;
  const std::vector<std::string> places = {"", " --state-dir \"a dir's\""};
  for (const std::string& place : places) {
    const Result started = Shell(up + place);
    ASSERT_EQ(started.code, 0) << started.out;
    const auto next = Hints(started.out, "next");
    ASSERT_EQ(next.size(), 2u) << started.out;
    const Result init = Shell(next[0]);
    ASSERT_EQ(init.code, 0) << next[0] << "\n" << init.out;
    EXPECT_EQ(Hints(init.out, "next"), std::vector<std::string>{next[1]}) << init.out;
    const Result submit = Shell(next[1]);
    EXPECT_EQ(submit.code, 0) << next[1] << "\n" << submit.out;
    const std::string file = place.empty() ? "run.yaml" : "run-2.yaml";
    EXPECT_THAT(*ReadFile(State(file)), HasSubstr("workers: 2 ")) << "it takes every slot";
    const auto stop = Hints(started.out, "stop");
    ASSERT_EQ(stop.size(), 1u) << started.out;
    const Result down = Shell(stop[0]);
    EXPECT_EQ(down.code, 0) << stop[0] << "\n" << down.out;
    EXPECT_THAT(down.out, HasSubstr("Stopped the coordinator (pid "));
  }
}

TEST_F(UpTest, NobodyElseReachesAnythingButTheMetrics) {
  const mode_t before = umask(0);
  const Result up = Up("a");
  umask(before);
  ASSERT_EQ(up.code, 0) << up.out;
  const json service = json::parse(up.out);
  EXPECT_EQ(service["address"], "unix:" + State("a") + "/coordinator.sock");
  for (const std::string name : {"coordinator", "worker"}) {
    EXPECT_EQ(ListeningPorts(service[name + "_pid"]),
              std::set<int>{PortOf(service[name + "_metrics"])})
        << name;
  }
  EXPECT_EQ(ListeningPorts(service["gateway_pid"]),
            (std::set<int>{PortOf(service["gateway"]), PortOf(service["gateway_metrics"])}));
  ASSERT_EQ(Gpctl({"init", State("run.yaml"), "--state-dir", State("a")}).code, 0);
  ASSERT_EQ(Gpctl({"submit", State("run.yaml"), "--wait", "--state-dir", State("a")}).code, 0);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(State("a"))) {
    const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    EXPECT_EQ(entry.status().permissions() & others, std::filesystem::perms::none) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 20);
}

TEST_F(UpTest, ListensOnAPortWhenToldToAndKeepsIt) {
  const Result first = Up("a", {"--listen", "127.0.0.1:0"});
  ASSERT_EQ(first.code, 0) << first.out;
  const std::string listen = json::parse(first.out)["listen"];
  EXPECT_EQ(listen.rfind("127.0.0.1:", 0), 0u) << listen;
  EXPECT_EQ(json::parse(first.out)["address"], "unix:" + State("a/coordinator.sock"));
  EXPECT_EQ(Gpctl({"list", "--state-dir", State("a")}).code, 0);
  EXPECT_EQ(Up("a", {"--listen", "127.0.0.1:0"}).out, first.out);
  EXPECT_EQ(Up("a", {"--listen", "127.0.0.2:0"}).code, 5);
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  const Result again = Up("a", {"--listen", "127.0.0.1:0"});
  ASSERT_EQ(again.code, 0) << again.out;
  EXPECT_EQ(json::parse(again.out)["listen"], listen);
}

TEST_F(UpTest, SeveralAtOnceAgreeOnOneService) {
  std::vector<Result> results(4);
  {
    std::vector<std::jthread> threads;
    for (Result& result : results) {
      threads.emplace_back([this, &result] { result = Up("a"); });
    }
  }
  for (const Result& result : results) {
    EXPECT_EQ(result.code, 0) << result.out;
    EXPECT_EQ(result.out, results[0].out);
  }
}

TEST_F(UpTest, DownStopsTheServiceOfTheCurrentContext) {
  ASSERT_EQ(Up("a").code, 0);
  ASSERT_EQ(Up("b").code, 0);
  const ServiceRecord record = *ServiceDirectory(State("b")).Load();
  const Result down = Gpctl({"down"});
  EXPECT_EQ(down.code, 0);
  EXPECT_THAT(down.out, HasSubstr(State("b")));
  EXPECT_FALSE(IsAlive(record.coordinator));
  EXPECT_TRUE(IsAlive(ServiceDirectory(State("a")).Load()->coordinator));
}

TEST_F(UpTest, TwoServicesRunSideBySideAndStop) {
  const Result a = Up("a");
  ASSERT_EQ(a.code, 0) << a.out;
  const Result b = Up("b");
  ASSERT_EQ(b.code, 0) << b.out;
  EXPECT_NE(json::parse(a.out)["address"], json::parse(b.out)["address"]);
  EXPECT_EQ(json::parse(a.out)["workers"], 2);
  EXPECT_EQ(Gpctl({"list", "--state-dir", State("a")}).code, 0);
  EXPECT_EQ(Gpctl({"list"}).code, 0);  // the context refers to the one that came up last
  const ServiceRecord record = *ServiceDirectory(State("a")).Load();
  EXPECT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  for (const ProcessIdentity& process :
       {record.supervisor, record.coordinator, record.worker, record.gateway}) {
    EXPECT_FALSE(IsAlive(process)) << process.program;
  }
  EXPECT_TRUE(IsAlive(ServiceDirectory(State("b")).Load()->coordinator));
}

TEST_F(UpTest, UpIsIdempotentAndComesBackOnTheSameAddress) {
  const Result first = Up("a");
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_EQ(Up("a").out, first.out);
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  const Result again = Up("a");
  ASSERT_EQ(again.code, 0);
  EXPECT_EQ(json::parse(again.out)["address"], json::parse(first.out)["address"]);
  EXPECT_EQ(json::parse(again.out)["gateway"], json::parse(first.out)["gateway"]);
}

TEST_F(UpTest, DownSavesTheLastStepAndTheRunGoesOnFromItWithoutAFailure) {
  ASSERT_EQ(Up("a").code, 0);
  std::ofstream text(home_ + "/text.txt");
  for (int line = 0; line < 20'000; ++line) text << "some text\n";
  text.close();
  std::ofstream(home_ + "/run.yaml") << "apiVersion: gp/v1\nname: endless\n"
                                        "data: {text: [text.txt], tokenizer: bytes}\n"
                                        "budget: {steps: 1000000}\n"
                                        "labels: {fake-step-ms: '2'}\n";
  const auto gpctl = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", State("a"), "-o", "json"});
    return Gpctl(arguments);
  };
  ASSERT_EQ(gpctl({"submit", home_ + "/run.yaml"}).code, 0);
  ASSERT_EQ(gpctl({"wait", "endless", "--for", "step=20"}).code, 0);
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  ASSERT_EQ(Up("a").code, 0);
  const int64_t saved = json::parse(gpctl({"status", "endless"}).out)["latest_checkpoint_step"];
  EXPECT_GE(saved, 20);
  const std::string next = "step=" + std::to_string(saved + 1);
  ASSERT_EQ(gpctl({"wait", "endless", "--for", next}).code, 0);
  const json run = json::parse(gpctl({"status", "endless"}).out);
  EXPECT_EQ(run["failures"], 0) << run.dump();
  EXPECT_EQ(run["epoch"], 2) << run.dump();
  EXPECT_EQ(gpctl({"cancel", "endless", "--now"}).code, 0);
}

TEST_F(UpTest, DownNowSavesNothing) {
  ASSERT_EQ(Up("a").code, 0);
  const ServiceRecord record = *ServiceDirectory(State("a")).Load();
  EXPECT_EQ(Gpctl({"down", "--now", "--state-dir", State("a")}).code, 0);
  for (const ProcessIdentity& process : {record.supervisor, record.coordinator, record.worker}) {
    EXPECT_FALSE(IsAlive(process)) << process.program;
  }
}

TEST_F(UpTest, FindsTheGpusAndOffersThem) {
  std::ofstream(State("gpus")) << "driver version=580.65.06 cuda=13000\n"
                                  "gpu uuid=GPU-a name=NVIDIA_H100 memory=85899345920 "
                                  "capability=9.0\n";
  setenv("GP_FAKE_NVML", State("gpus").c_str(), 1);
  setenv("LD_LIBRARY_PATH", GP_FAKE_NVML_DIRECTORY, 1);
  const Result up = Gpctl({"up", "--detach", "--workers", "2", "--gpu-trainer", GP_FAKE_TRAINER,
                           "--state-dir", State("a"), "-o", "json"});
  unsetenv("GP_FAKE_NVML");
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_EQ(up.code, 0) << up.out;
  EXPECT_EQ(json::parse(up.out)["gpus"], json({"NVIDIA H100, 80.0 GiB, sm_90"}));
  EXPECT_EQ(json::parse(up.out)["workers"], 2);
  EXPECT_THAT(Gpctl({"workers", "list", "--state-dir", State("a")}).out, HasSubstr("gpu-0"));
}

TEST_F(UpTest, ACommandSucceedsAcrossAKilledCoordinator) {
  ASSERT_EQ(Up("a").code, 0);
  const ServiceDirectory directory(State("a"));
  const ProcessIdentity coordinator = directory.Load()->coordinator;
  ASSERT_EQ(kill(coordinator.pid, SIGKILL), 0);
  EXPECT_EQ(Gpctl({"list", "--state-dir", State("a"), "--timeout", "30s"}).code, 0);
  EXPECT_NE(directory.Load()->coordinator, coordinator);
}

// Like case runs-and-service/53: `down --purge` must not delete what another service uses.
TEST_F(UpTest, PurgeKeepsTheStorageOfAnotherService) {
  ASSERT_EQ(Up("a").code, 0);
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  const std::string storage = State("a") + "/storage";
  ASSERT_EQ(Up("b", {"--storage-root", storage}).code, 0);
  const std::string gpctl = JoinPath(std::getenv("GP_BIN"), "gpctl");
  const std::string place = " --state-dir " + State("a");
  const Result refused = Shell(gpctl + " down --purge --yes" + place);
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_THAT(refused.out,
              HasSubstr("storage root " + storage + " is in use by a coordinator (process "));
  EXPECT_TRUE(FileExists(storage + "/.gp-probe"));
  EXPECT_TRUE(FileExists(State("a") + "/coordinator/gp.db"));
  const Result second = Shell(gpctl + " up --detach" + place);
  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.out, HasSubstr("is in use by another coordinator (process "));
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("b")}).code, 0);
  EXPECT_EQ(Gpctl({"down", "--purge", "--yes", "--state-dir", State("a")}).code, 0);
  EXPECT_FALSE(FileExists(State("a")));
}

TEST_F(UpTest, ALostCatalogueDoesNotLookLikeANewService) {
  ASSERT_EQ(Up("a").code, 0);
  const std::string gpctl = JoinPath(std::getenv("GP_BIN"), "gpctl");
  const std::string place = " --state-dir " + State("a");
  EXPECT_THAT(Shell(gpctl + " list -a" + place).out, HasSubstr("There are no runs yet"));
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  std::filesystem::create_directories(State("a/storage/runs/0123456789"));
  ASSERT_TRUE(WriteFileAtomically(State("a/storage/runs/0123456789/run.yaml"), "").ok());
  ASSERT_EQ(Up("a").code, 0);
  EXPECT_THAT(Shell(gpctl + " list -a" + place).out,
              HasSubstr("holds 1 run missing from this coordinator's state; if " +
                        State("a/coordinator/gp.db") + " was lost, restore it from a backup"));
  EXPECT_THAT(Shell(gpctl + " list -a --namespace nope" + place).out,
              StartsWith("There are no runs in namespace nope yet.\n"))
      << "the runs may be in other namespaces";
  EXPECT_THAT(ReadFile(State("a/logs/coordinator.log")).value_or(""),
              HasSubstr("the storage holds runs, but this catalogue is empty"));
}

TEST_F(UpTest, WhatARunningServiceCannotChangeIsRefused) {
  ASSERT_EQ(Up("a").code, 0);
  const std::string gpctl = JoinPath(std::getenv("GP_BIN"), "gpctl");
  const std::string up = gpctl + " up --detach --state-dir " + State("a");
  EXPECT_THAT(Shell(up + " --port-base 2000").out, HasSubstr("start with --port-base 2000"));
  EXPECT_THAT(Shell(up + " --no-gateway").out, HasSubstr("start without one"));
  const std::string record = ReadFile(State("a/service.json")).value_or("");
  std::ofstream(State("a/service.json")) << "{\"apiVersion\": \"gp/v1\", \"supervisor\": 1}";
  EXPECT_THAT(Shell(gpctl + " down --state-dir " + State("a")).out,
              HasSubstr("Stop the service by its process number (process "));
  std::ofstream(State("a/service.json")) << record;
}

TEST_F(UpTest, PurgeThroughALinkEmptiesTheDirectory) {
  std::filesystem::create_directory(State("there"));
  std::filesystem::create_symlink(State("there"), State("a"));
  ASSERT_EQ(Up("a").code, 0);
  const Result purged = Gpctl({"down", "--purge", "--yes", "--state-dir", State("a")});
  EXPECT_EQ(purged.code, 0) << purged.out;
  EXPECT_TRUE(std::filesystem::is_empty(State("there")));
  EXPECT_EQ(Up("a").code, 0);
}

// A second container with the same volume sees the files of the service, but not its processes.
// Case runs-and-service/53: a service on another host was treated as dead.
TEST_F(UpTest, AServiceInAnotherContainerIsNeitherStoppedNorDeletedFromHere) {
  if (Shell("unshare --pid --fork --mount-proc true").code != 0) {
    GTEST_SKIP() << "another process namespace needs root and unshare";
  }
  const std::string gpctl = JoinPath(std::getenv("GP_BIN"), "gpctl");
  const std::string place = " --state-dir " + State("a");
  ASSERT_EQ(mkfifo(State("go").c_str(), 0600), 0);
  std::ofstream(State("container.sh"))
      << gpctl << " up --detach --workers 1 --trainer " << GP_FAKE_TRAINER << place
      << " >up.out 2>&1; echo $? >up.code; read word <go\n"
      << gpctl << " down" << place << " >down.out 2>&1; echo $? >down.code\n";
  Shell("unshare --pid --fork --mount-proc sh container.sh </dev/null >container.out 2>&1 &");
  const auto text = [this](const char* name) { return ReadFile(State(name)).value_or(""); };
  ASSERT_TRUE(Eventually([&] { return text("up.code").ends_with("\n"); }));
  ASSERT_EQ(text("up.code"), "0\n") << text("up.out");
  const std::string record = text("a/service.json");
  for (const std::string down : {" down", " down --now", " down --purge --yes"}) {
    const Result refused = Shell(gpctl + down + place);
    EXPECT_EQ(refused.code, 1) << refused.out;
    EXPECT_THAT(refused.out, HasSubstr("in use by 'gpctl up' (process "));
    EXPECT_THAT(refused.out, HasSubstr("elsewhere: in another container of this machine"));
    EXPECT_THAT(refused.out, HasSubstr("stop it there"));
  }
  EXPECT_THAT(Shell(gpctl + " up --detach" + place).out, HasSubstr("elsewhere"));
  EXPECT_EQ(Shell(gpctl + " list" + place).code, 0);
  EXPECT_EQ(text("a/service.json"), record);
  std::ofstream(State("go")) << "word\n";
  ASSERT_TRUE(Eventually([&] { return text("down.code").ends_with("\n"); }));
  EXPECT_EQ(text("down.code"), "0\n") << text("down.out");
  EXPECT_THAT(text("down.out"), HasSubstr("Stopped the coordinator (pid "));
  EXPECT_EQ(Shell(gpctl + " down --purge --yes" + place).code, 0);
  EXPECT_FALSE(FileExists(State("a")));
}

// The supervisor in the other container was killed, so its lock is free, but the coordinator and
// the agent still hold theirs.
TEST_F(UpTest, ACoordinatorInAnotherContainerKeepsItsDirectory) {
  if (Shell("unshare --pid --fork --mount-proc true").code != 0) {
    GTEST_SKIP() << "another process namespace needs root and unshare";
  }
  const std::string gpctl = JoinPath(std::getenv("GP_BIN"), "gpctl");
  const std::string place = " --state-dir " + State("a");
  ASSERT_EQ(mkfifo(State("go").c_str(), 0600), 0);
  std::ofstream(State("container.sh"))
      << gpctl << " up --detach --workers 1 --trainer " << GP_FAKE_TRAINER << place
      << " -o json >up.out 2>&1\n"
      << "kill -9 $(sed -n 's/.*\"supervisor_pid\": \\([0-9]*\\).*/\\1/p' up.out)\n"
      << "echo $? >up.code; read word <go\n";
  Shell("unshare --pid --fork --mount-proc sh container.sh </dev/null >container.out 2>&1 &");
  const auto text = [this](const char* name) { return ReadFile(State(name)).value_or(""); };
  ASSERT_TRUE(Eventually([&] { return text("up.code").ends_with("\n"); }));
  ASSERT_EQ(text("up.code"), "0\n") << text("up.out") << text("container.out");
  const Result refused = Shell(gpctl + " down --purge --yes" + place);
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("in use by a coordinator (process "));
  EXPECT_TRUE(FileExists(State("a/coordinator/gp.db")));
  std::ofstream(State("go")) << "word\n";
  EXPECT_TRUE(Eventually([&] { return Shell(gpctl + " down" + place).code == 0; }));
}

// Submits two runs to a service: one that ends and one that continues.
void SubmitTwoRuns(const std::string& home,
                   const std::function<Result(std::vector<std::string>)>& gpctl) {
  std::ofstream text(home + "/text.txt");
  for (int line = 0; line < 20'000; ++line) text << "some text\n";
  text.close();
  const auto submit = [&](const std::string& name, const std::string& steps) {
    const std::string file = home + "/" + name + ".yaml";
    std::ofstream(file) << "apiVersion: gp/v1\nname: " << name
                        << "\ndata: {text: [text.txt], tokenizer: bytes}\nbudget: {steps: " << steps
                        << "}\ncheckpoint: {every: 10}\nlabels: {fake-step-ms: '2'}\n";
    ASSERT_EQ(gpctl({"submit", file}).code, 0);
  };
  submit("done", "30");
  ASSERT_EQ(gpctl({"wait", "done"}).code, 0);
  submit("live", "1000000");
  ASSERT_EQ(gpctl({"wait", "live", "--for", "step=20"}).code, 0);
}

// Case runs-and-service/01: after a state directory was moved, its runs were lost.
TEST_F(UpTest, AMovedStateDirectoryIsTheSameService) {
  ASSERT_EQ(Up("a").code, 0);
  std::string place = "a";
  const auto gpctl = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", State(place), "-o", "json"});
    return Gpctl(arguments);
  };
  SubmitTwoRuns(home_, gpctl);
  ASSERT_EQ(gpctl({"down"}).code, 0);
  std::filesystem::rename(State("a"), State("b"));
  place = "b";
  ASSERT_EQ(Up("b").code, 0);
  EXPECT_FALSE(FileExists(State("a"))) << "nothing is made where it was";
  const json ended = json::parse(gpctl({"ckpt", "list", "done"}).out)["items"];
  ASSERT_FALSE(ended.empty());
  EXPECT_THAT(ended[0]["directory"].get<std::string>(), HasSubstr(State("b/storage/runs/")));
  EXPECT_TRUE(FileExists(ended[0]["directory"].get<std::string>() + "/manifest.json"));
  const int64_t saved = json::parse(gpctl({"status", "live"}).out)["latest_checkpoint_step"];
  ASSERT_EQ(gpctl({"wait", "live", "--for", "step=" + std::to_string(saved + 1)}).code, 0);
  const json run = json::parse(gpctl({"status", "live"}).out);
  EXPECT_EQ(run["failures"], 0) << run.dump();
  EXPECT_GE(saved, 20);
}

// Case runs-and-service/43: if the storage was not mounted, a new and empty one was made.
TEST_F(UpTest, AStorageThatIsAwayIsRefusedAndRunsGoOnWhenItIsBack) {
  std::filesystem::create_directory(State("mount"));
  const std::vector<std::string> storage = {"--storage-root", State("mount/gp")};
  ASSERT_EQ(Up("a", storage).code, 0);
  const auto gpctl = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", State("a"), "-o", "json"});
    return Gpctl(arguments);
  };
  SubmitTwoRuns(home_, gpctl);
  ASSERT_EQ(gpctl({"down"}).code, 0);
  std::filesystem::rename(State("mount"), State("real"));
  std::filesystem::create_directory(State("mount"));
  const std::string program = JoinPath(std::getenv("GP_BIN"), "gpctl");
  const std::string place = " --state-dir " + State("a");
  for (const std::string up : {" up --detach", " up --detach --storage-root mount/gp"}) {
    const Result away = Shell(program + up + place);
    EXPECT_NE(away.code, 0);
    EXPECT_THAT(away.out, HasSubstr("storage root " + State("mount/gp") + " has 0 of the "));
    EXPECT_THAT(away.out, HasSubstr("mount its file system"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(State("mount"))) << "something was made in it";
  EXPECT_THAT(Shell(program + " doctor" + place).out,
              HasSubstr(State("mount/gp") + " is not the storage of this service"));
  std::filesystem::remove(State("mount"));
  std::filesystem::rename(State("real"), State("elsewhere"));
  ASSERT_EQ(Up("a", {"--storage-root", State("elsewhere/gp")}).code, 0);
  const json run = json::parse(gpctl({"status", "live"}).out);
  EXPECT_EQ(run["failures"], 0) << run.dump();
  const int64_t saved = run["latest_checkpoint_step"];
  EXPECT_GE(saved, 20);
  EXPECT_EQ(gpctl({"wait", "live", "--for", "step=" + std::to_string(saved + 1)}).code, 0);
}

TEST_F(UpTest, AStorageThatWasLostIsAdoptedAndRunsBeginAnew) {
  ASSERT_EQ(Up("a").code, 0);
  const auto gpctl = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", State("a"), "-o", "json"});
    return Gpctl(arguments);
  };
  SubmitTwoRuns(home_, gpctl);
  ASSERT_EQ(gpctl({"down"}).code, 0);
  std::filesystem::remove_all(State("a/storage"));
  EXPECT_NE(Up("a").code, 0);
  ASSERT_EQ(Up("a", {"--adopt"}).code, 0);
  ASSERT_EQ(gpctl({"wait", "live", "--for", "step=20"}).code, 0);
  const json run = json::parse(gpctl({"status", "live"}).out);
  EXPECT_EQ(run["failures"], 0) << run.dump();
  ASSERT_EQ(gpctl({"down"}).code, 0);
  EXPECT_EQ(Up("a").code, 0) << "the adopted storage is known from now on";
}

// After a reboot, for example, other processes may have the process numbers in old address files.
TEST_F(UpTest, AnOldAddressFileWithTheNumberOfAnotherServicesDaemonIsIgnored) {
  ASSERT_EQ(Up("a").code, 0);
  const ServiceRecord other = *ServiceDirectory(State("a")).Load();
  const ServiceDirectory directory(State("b"));
  ASSERT_TRUE(directory.Create().ok());
  const std::map<std::string, int> pids = {{"coordinator", other.coordinator.pid},
                                           {"worker", other.worker.pid}};
  for (const auto& [name, pid] : pids) {
    const json old = {{"address", "unix:" + directory.Socket()}, {"metrics", ""}, {"pid", pid}};
    ASSERT_TRUE(WriteFileAtomically(directory.AddressFile(name), old.dump()).ok());
  }
  const Result up = Up("b");
  ASSERT_EQ(up.code, 0) << up.out;
  EXPECT_NE(directory.Load()->coordinator.pid, other.coordinator.pid);
  EXPECT_NE(directory.Load()->worker.pid, other.worker.pid);
}

TEST_F(UpTest, AKilledSupervisorIsReplacedByTheNextUp) {
  ASSERT_EQ(Up("a").code, 0);
  const ServiceDirectory directory(State("a"));
  const ServiceRecord before = *directory.Load();
  ASSERT_EQ(kill(before.supervisor.pid, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] { return !IsAlive(before.supervisor); }));
  ASSERT_EQ(Up("a").code, 0);
  EXPECT_EQ(directory.Load()->coordinator, before.coordinator);
  EXPECT_EQ(directory.Load()->worker, before.worker);
}

}  // namespace
}  // namespace gp::gpctl
