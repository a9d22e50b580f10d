// Attacks a coordinator with two training agents. GP_HOSTILE_SECONDS sets the duration; the default
// is a few seconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/file.h"
#include "base/status.h"
#include "integration/cluster.h"
#include "lib/rpc/connected_channel.h"

namespace gp::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kStepMs = 20;

seconds AttackLength() {
  const char* wanted = std::getenv("GP_HOSTILE_SECONDS");
  return seconds(wanted == nullptr ? 6 : std::stoi(wanted));
}

double Millis(steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Requests the version every few milliseconds on its own connection, as a monitor does.
class VersionProbe {
 public:
  explicit VersionProbe(const std::string& address)
      : thread_([this, address](const std::stop_token& stop) { Loop(stop, address); }) {}

  // Stops, and returns the latencies in milliseconds, sorted.
  std::vector<double> Stop() {
    thread_.request_stop();
    thread_.join();
    std::sort(latencies_.begin(), latencies_.end());
    return latencies_;
  }

 private:
  void Loop(const std::stop_token& stop, const std::string& address) {
    const auto stub = v1::RunService::NewStub(rpc::ConnectedChannel(address));
    while (!stop.stop_requested()) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kPatience);
      v1::VersionResponse response;
      const auto asked = steady_clock::now();
      const grpc::Status status = stub->Version(&context, {}, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      latencies_.push_back(Millis(steady_clock::now() - asked));
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  std::vector<double> latencies_;
  std::jthread thread_;
};

// A field of /proc/<pid>/status, in MiB.
int64_t Memory(int pid, const std::string& field) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string name;
  int64_t kilobytes = 0;
  while (file >> name) {
    if (name == field + ":" && file >> kilobytes) return kilobytes / 1024;
    file.ignore(1000, '\n');
  }
  ADD_FAILURE() << "no " << field << " of process " << pid;
  return 0;
}

double At(const std::vector<double>& sorted, double quantile) {
  return sorted.at(static_cast<size_t>(quantile * static_cast<double>(sorted.size() - 1)));
}

// The longest time between two successive points, by the trainer's clock.
double LongestStepSeconds(const std::vector<v1::MetricPoint>& points) {
  double longest = 0;
  for (size_t i = 1; i < points.size(); ++i) {
    const auto nanos = [](const v1::MetricPoint& point) {
      return static_cast<double>(point.at().seconds()) + 1e-9 * point.at().nanos();
    };
    longest = std::max(longest, nanos(points[i]) - nanos(points[i - 1]));
  }
  return longest;
}

class HostileClient : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(cluster_.directory(), "text.txt"), "text\n").ok());
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
    cluster_.StartWorker("node-b", {.slots = 1});
    run_ = cluster_.Submit(FakeRun(2, 1'000'000, fmt::format("fake-step-ms: '{}'", kStepMs)));
    cluster_.WaitForStep(run_, 20);
  }

  void Attack(seconds length, uint64_t seed) {
    const std::string log = JoinPath(cluster_.directory(), "hostile.txt");
    Process client({std::getenv("GP_HOSTILE_CLIENT"), cluster_.address(), run_,
                    std::to_string(length.count()), std::to_string(seed)},
                   {}, log);
    EXPECT_EQ(client.Wait(length + kPatience), 0);
    std::cout << *ReadFile(log);
  }

  Cluster cluster_{{.trainer = std::getenv("GP_FAKE_TRAINER")}};
  std::string run_;
};

TEST_F(HostileClient, CostsNoLeaseNoStepAndNoMemory) {
  constexpr uint64_t kSeed = 20261122;
  const int64_t memory_before = Memory(cluster_.coordinator().pid(), "VmRSS");
  const v1::Run before = cluster_.Get(run_);
  const auto start = steady_clock::now();
  VersionProbe probe(cluster_.address());
  Attack(AttackLength(), kSeed);
  const std::vector<double> latencies = probe.Stop();
  const double elapsed_ms = Millis(steady_clock::now() - start);
  const v1::Run after = cluster_.Get(run_);
  const int64_t memory_peak = Memory(cluster_.coordinator().pid(), "VmHWM");
  const int64_t steps = after.progress().step() - before.progress().step();
  const double longest = LongestStepSeconds(cluster_.Points(run_));
  std::cout << fmt::format(
      "seed {}: {:.0f} s; Version {} times, p50 {:.1f} ms, p99 {:.1f} ms, longest {:.1f} ms; {} "
      "steps of {} ms, longest {:.0f} ms; memory {} MiB before, {} MiB at most\n",
      kSeed, elapsed_ms / 1000, latencies.size(), At(latencies, 0.5), At(latencies, 0.99),
      latencies.back(), steps, kStepMs, longest * 1000, memory_before, memory_peak);

  EXPECT_EQ(after.state(), v1::RUN_STATE_RUNNING) << after.reason();
  EXPECT_EQ(after.epoch(), before.epoch());
  EXPECT_EQ(after.failures(), 0);
  for (const v1::RunEvent& event : cluster_.Events(run_)) EXPECT_NE(event.kind(), "rank_failed");
  for (const v1::Node& node : cluster_.Nodes()) EXPECT_TRUE(node.connected()) << node.name();
  // Wide bounds, because a busy machine may slow training down.
  EXPECT_GT(static_cast<double>(steps), elapsed_ms / kStepMs / 4);
  EXPECT_LT(longest, 5);
  EXPECT_LT(At(latencies, 0.99), 1000);
  EXPECT_LT(memory_peak - memory_before, 1024);
}

}  // namespace
}  // namespace gp::testing
