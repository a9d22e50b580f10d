// The agent's loop with real processes of the fake trainer and a fake coordinator.
#include "worker/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/machine/usable_cores.h"
#include "base/random_id.h"
#include "fakes/fake_coordinator_port.h"
#include "lib/base/eventually.h"

namespace gp::agent {
namespace {

using v1::AgentReport;

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    std::filesystem::create_directories(directory_);
    options_.trainer_program = std::getenv("GP_FAKE_TRAINER");
    options_.gpu_trainer_program = std::getenv("GP_FAKE_TRAINER");
    options_.gpu_environment = {"NCCL_DEBUG=WARN"};
    options_.files.storage_root = directory_;
    options_.farewell = std::chrono::milliseconds(100);
  }
  ~AgentTest() override {
    if (loop_.joinable()) Stop();
    std::filesystem::remove_all(directory_);
  }

  void Start() {
    const std::vector<int> core = {UsableCores().value().front()};
    auto slots = CutCpuSlots(2, core, 0);
    slots.push_back({.id = "gpu-3", .device = "GPU-cccc", .cores = core});
    agent_.emplace(options_, SlotTable(slots), SystemClock(), inbox_, port_, metrics_);
    loop_ = std::jthread([this] { agent_->Run(); });
  }
  void Stop() {
    inbox_.Post(StopRequested{});
    loop_.join();
  }

  v1::Assignment& Assign(int rank, const std::string& labels, int64_t steps = 5) {
    v1::Assignment& assignment = *desired_.add_assignments();
    assignment.set_run_id("run1");
    assignment.set_epoch(1);
    assignment.set_rank(rank);
    assignment.set_world_size(rank + 1);
    assignment.set_slot_id("cpu-" + std::to_string(rank));
    assignment.set_run_directory(directory_ + "/runs/run1");
    assignment.set_resolved(fmt::format("budget: {{steps: {}}}\nlabels: {{{}}}\n", steps, labels));
    return assignment;
  }
  void PostDesired() {
    desired_.set_revision(desired_.revision() + 1);
    inbox_.Post(desired_);
  }

  bool WaitForPhase(int rank, v1::RankPhase phase) {
    return port_.WaitForReport([&](const AgentReport& report) {
      for (const auto& status : report.ranks()) {
        if (status.rank() == rank && status.phase() >= phase) return true;
      }
      return false;
    });
  }
  v1::RankStatus Exit(int rank) {
    v1::RankStatus exit;
    EXPECT_TRUE(port_.WaitForReport([&](const AgentReport& report) {
      for (const auto& status : report.ranks()) {
        if (status.rank() != rank || status.phase() != v1::RANK_PHASE_EXITED) continue;
        exit = status;
        return true;
      }
      return false;
    }));
    return exit;
  }
  bool WaitForNoRanks() {
    return port_.WaitForReport([&](const AgentReport& report) {
      return report.ranks().empty() && report.revision() == desired_.revision();
    });
  }

  const std::string directory_ = testing::TempDir() + "agent_test_" + RandomId(8);
  AgentOptions options_;
  Inbox inbox_;
  fakes::FakeCoordinatorPort port_;
  AgentMetrics metrics_{"test"};
  v1::DesiredState desired_;
  std::optional<Agent> agent_;
  std::jthread loop_;
};

TEST_F(AgentTest, ATrainerGoesFromSpawnToCompletedAsTheCoordinatorAsks) {
  Start();
  v1::Assignment& assignment = Assign(0, "");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_LISTENING));
  assignment.mutable_membership()->add_addresses("127.0.0.1:1");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_READY));
  assignment.set_go(true);
  PostDesired();
  ASSERT_TRUE(port_.WaitForReport([](const AgentReport& report) {
    return report.ranks_size() == 1 && report.ranks(0).written_size() == 1;
  }));
  assignment.add_sealed_steps(5);
  PostDesired();
  const v1::RankStatus exit = Exit(0);
  EXPECT_EQ(exit.exit_cause(), v1::EXIT_CAUSE_COMPLETED) << exit.message();
  EXPECT_EQ(exit.step(), 5);
  desired_.clear_assignments();
  PostDesired();
  EXPECT_TRUE(WaitForNoRanks());

  int points = 0;
  int lines = 0;
  for (const auto& item : port_.items()) (item.has_point() ? points : lines) += 1;
  EXPECT_EQ(points, 5);
  EXPECT_EQ(lines, 2);
  EXPECT_NE(metrics_.Text().find("gp_worker_trainer_exits_total{cause=\"completed\"} 1"),
            std::string::npos);
}

// The environment with which process `pid` was started.
std::string EnvironmentOf(int pid) {
  const auto text = ReadFile("/proc/" + std::to_string(pid) + "/environ");
  return text.value_or("");
}

TEST_F(AgentTest, ATrainerOnAGpuSeesThatOneOnly) {
  Start();
  Assign(0, "").set_slot_id("gpu-3");
  Assign(1, "").set_slot_id("cpu-1");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_LISTENING));
  ASSERT_TRUE(WaitForPhase(1, v1::RANK_PHASE_LISTENING));
  const AgentReport report = port_.report();
  ASSERT_EQ(report.ranks_size(), 2);
  for (const auto& rank : report.ranks()) {
    const std::string environment = EnvironmentOf(rank.pid());
    const bool on_gpu = rank.rank() == 0;
    EXPECT_EQ(environment.find("CUDA_VISIBLE_DEVICES=GPU-cccc") != std::string::npos, on_gpu);
    EXPECT_EQ(environment.find("NCCL_DEBUG=WARN") != std::string::npos, on_gpu);
  }
}

TEST_F(AgentTest, ALostGpuIsReportedAndItsTrainerKilled) {
  Start();
  Assign(0, "").set_slot_id("gpu-3");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_LISTENING));
  inbox_.Post(SlotsChanged{{{"gpu-3", {.lost = true, .problem = "GPU 3 is lost"}}}});
  EXPECT_EQ(Exit(0).message(), "killed: GPU 3 is lost");
  EXPECT_EQ(port_.report().slot_problems().at("gpu-3"), "GPU 3 is lost");
  const auto has = [this](const std::string& line) {
    return Eventually([&] { return metrics_.Text().find(line) != std::string::npos; });
  };
  EXPECT_TRUE(has("gp_worker_slots{state=\"unusable\"} 1"));
  EXPECT_TRUE(has("gp_worker_slots{state=\"free\"} 2"));
  inbox_.Post(SlotsChanged{});
  EXPECT_TRUE(port_.WaitForReport(
      [](const AgentReport& report) { return report.slot_problems().empty(); }));
}

TEST_F(AgentTest, AnExitThatTheCoordinatorDidNotHearOfIsKept) {
  options_.trainer_program = "/nonexistent/gp-trainer";
  port_.HoldReports(true);
  Start();
  Assign(0, "");
  PostDesired();
  const v1::RankStatus exit = Exit(0);
  EXPECT_EQ(exit.exit_cause(), v1::EXIT_CAUSE_SPAWN_FAILED);
  EXPECT_NE(exit.message().find("/nonexistent/gp-trainer"), std::string::npos);
  desired_.clear_assignments();
  PostDesired();
  ASSERT_TRUE(port_.WaitForReport([&](const AgentReport& report) {
    return report.revision() == desired_.revision() && report.ranks_size() == 1;
  }));
  port_.HoldReports(false);
  inbox_.Post(ReportWritten{});
  EXPECT_TRUE(WaitForNoRanks());
}

TEST_F(AgentTest, LastWordsAndExitCodeReachTheCoordinator) {
  Start();
  v1::Assignment& assignment =
      Assign(0, "fake-fail-at-step: 0, fake-exit-code: 2, fake-fail-message: no such file x.txt");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_LISTENING));
  assignment.mutable_membership()->add_addresses("127.0.0.1:1");
  assignment.set_go(true);
  PostDesired();
  const v1::RankStatus exit = Exit(0);
  EXPECT_EQ(exit.exit_cause(), v1::EXIT_CAUSE_CONFIG);
  EXPECT_EQ(exit.exit_code(), 2);
  EXPECT_EQ(exit.message(), "no such file x.txt");
}

TEST_F(AgentTest, ATrainerThatHangsIsKilledAndItsPhaseNamed) {
  Start();
  v1::Assignment& assignment = Assign(0, "fake-hang: true");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_LISTENING));
  assignment.mutable_membership()->add_addresses("127.0.0.1:1");
  assignment.set_go(true);
  PostDesired();
  ASSERT_TRUE(port_.WaitForReport([](const AgentReport& report) {
    return report.ranks_size() == 1 && report.ranks(0).progress().phase() == "backward";
  }));
  const v1::RankStatus exit = Exit(0);
  EXPECT_EQ(exit.exit_cause(), v1::EXIT_CAUSE_STALLED);
  EXPECT_EQ(exit.message().substr(0, 42), "hung in phase backward: no progress for 2.")
      << exit.message();
  EXPECT_NE(metrics_.Text().find("gp_worker_trainer_exits_total{cause=\"stalled\"} 1"),
            std::string::npos);
}

TEST_F(AgentTest, AWithdrawnTrainerIsKilledEvenIfItIgnoresSigterm) {
  Start();
  Assign(0, "fake-silent: true, fake-ignore-stop: true");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_STARTING));
  desired_.clear_assignments();
  PostDesired();
  EXPECT_TRUE(WaitForNoRanks());
}

TEST_F(AgentTest, AStubbornTrainerIsStoppedByForceWithinItsGrace) {
  options_.reconcile.save_grace = std::chrono::milliseconds(50);
  options_.reconcile.terminate_after = std::chrono::milliseconds(50);
  options_.reconcile.kill_after_terminate = std::chrono::milliseconds(50);
  Start();
  v1::Assignment& assignment = Assign(0, "fake-silent: true, fake-ignore-stop: true");
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_STARTING));
  assignment.set_stop(true);
  PostDesired();
  EXPECT_EQ(Exit(0).exit_cause(), v1::EXIT_CAUSE_STOPPED);
}

TEST_F(AgentTest, StoppingTheAgentLetsItsTrainersSaveAndTakesNothingNew) {
  Start();
  v1::Assignment& assignment = Assign(0, "", /*steps=*/1'000'000);
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_LISTENING));
  assignment.mutable_membership()->add_addresses("127.0.0.1:1");
  assignment.set_go(true);
  PostDesired();
  ASSERT_TRUE(WaitForPhase(0, v1::RANK_PHASE_RUNNING));
  inbox_.Post(StopRequested{});
  int64_t saved = 0;
  ASSERT_TRUE(port_.WaitForReport([&](const AgentReport& report) {
    if (report.ranks(0).written().empty()) return false;
    saved = report.ranks(0).written(0).step();
    return true;
  }));
  EXPECT_EQ(port_.report().slot_problems().at("cpu-1"), "the agent of this node is stopping");
  inbox_.Post(StopRequested{});  // the save continues and waits to be sealed
  assignment.add_sealed_steps(saved);
  Assign(1, "");
  PostDesired();
  loop_.join();
  const v1::RankStatus exit = Exit(0);
  EXPECT_EQ(exit.exit_cause(), v1::EXIT_CAUSE_STOPPED) << exit.message();
  EXPECT_EQ(exit.step(), saved);
  EXPECT_THAT(exit.message(), ::testing::StartsWith("stopped after step "));
  EXPECT_EQ(Exit(1).exit_cause(), v1::EXIT_CAUSE_STOPPED);
}

TEST_F(AgentTest, AHurriedSecondStopKillsTheTrainers) {
  Start();
  Assign(0, "fake-silent: true, fake-ignore-stop: true");
  Assign(1, "fake-silent: true, fake-ignore-stop: true");
  PostDesired();
  int pid = 0;
  ASSERT_TRUE(port_.WaitForReport([&](const AgentReport& report) {
    if (report.ranks_size() < 2) return false;
    pid = report.ranks(1).pid();
    return true;
  }));
  inbox_.Post(StopRequested{});
  inbox_.Post(StopRequested{.hurried = true});
  loop_.join();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(Exit(1).exit_cause(), v1::EXIT_CAUSE_STOPPED);
}

TEST_F(AgentTest, ARunWhoseDirectoryIsNotItsOwnIsNotStarted) {
  Start();
  Assign(0, "").set_run_directory(directory_ + "/runs/run2");
  PostDesired();
  const v1::RankStatus exit = Exit(0);
  EXPECT_EQ(exit.exit_cause(), v1::EXIT_CAUSE_CONFIG);
  EXPECT_NE(exit.message().find("not the run's own beneath " + directory_ + "/runs"),
            std::string::npos)
      << exit.message();
}

}  // namespace
}  // namespace gp::agent
