// A node with GPUs: real daemons, the fake NVML instead of the driver, and the fake trainer instead
// of gp-trainer-cuda. No GPU computes anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "integration/cluster.h"

namespace gp::testing {
namespace {

constexpr const char* kOnGpu = "fake-step-ms: '10'";

// Describes two GPUs for the fake NVML; `second` adds fields to the second one. See
// tests/fakes/fake_nvml.cc.
std::string TwoGpus(const std::string& second = "") {
  return "driver version=580.65.06 cuda=13000\n"
         "gpu uuid=GPU-aaaa name=NVIDIA_H100 memory=85899345920 used=1024 temperature=41 "
         "capability=9.0\n"
         "gpu uuid=GPU-bbbb name=NVIDIA_H100 memory=85899345920 capability=9.0 " +
         second + "\n";
}

std::string GpuRun(int workers, int steps, const std::string& device = "gpu") {
  std::string text = FakeRun(workers, steps, kOnGpu);
  const std::string resources = fmt::format("{{workers: {}}}", workers);
  text.replace(text.find(resources), resources.size(),
               fmt::format("{{workers: {}, device: {}}}", workers, device));
  return text;
}

// The value of a variable in a process's environment; empty if it is not set.
std::string EnvironmentOf(int pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

class GpuNode : public ::testing::Test {
 protected:
  GpuNode() : cluster_({.trainer = std::getenv("GP_FAKE_TRAINER")}) {
    EXPECT_TRUE(WriteFileAtomically(cluster_.directory() + "/text.txt", "some text\n").ok());
    cluster_.StartCoordinator();
  }

  // Starts a worker whose GPUs are described by the text `gpus`.
  void StartWorker(const std::string& name, const std::string& gpus,
                   const std::string& more_config = "") {
    Describe(name, gpus);
    cluster_.StartWorker(
        name, {.slots = 1,
               .environment = {"GP_FAKE_NVML=" + DescriptionOf(name), "NCCL_DEBUG=WARN",
                               "CUDA_VISIBLE_DEVICES=0,1"},
               .config = fmt::format("gpu: {{library: {}, trainer: {}, check_interval: 20ms{}}}\n",
                                     std::getenv("GP_FAKE_NVML_LIBRARY"),
                                     std::getenv("GP_FAKE_TRAINER"), more_config),
               .gpus = true});
  }
  std::string DescriptionOf(const std::string& name) const {
    return cluster_.directory() + "/" + name + ".gpus";
  }
  void Describe(const std::string& name, const std::string& gpus) {
    ASSERT_TRUE(WriteFileAtomically(DescriptionOf(name), gpus).ok());
  }

  v1::Slot SlotOf(const std::string& node_name, const std::string& slot_id) {
    for (const v1::Node& node : cluster_.Nodes()) {
      for (const v1::Slot& slot : node.slots()) {
        if (node.name() == node_name && slot.slot_id() == slot_id) return slot;
      }
    }
    return {};
  }
  std::vector<std::string> SlotsOf(const v1::Run& run) {
    std::vector<std::string> slots;
    for (const auto& place : run.placement()) {
      slots.push_back(place.node_name() + ":" + place.slot_id());
    }
    return slots;
  }

  Cluster cluster_;
};

TEST_F(GpuNode, ShowsItsGpusToTheCoordinator) {
  StartWorker("node-a", TwoGpus());
  const auto nodes = cluster_.Nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].gpu_driver(), "580.65.06, CUDA 13.0");
  ASSERT_EQ(nodes[0].slots_size(), 3);
  const v1::Slot gpu = SlotOf("node-a", "gpu-1");
  EXPECT_EQ(gpu.device(), "GPU-bbbb");
  EXPECT_EQ(gpu.device_name(), "NVIDIA H100");
  EXPECT_EQ(gpu.compute_capability(), "9.0");
  EXPECT_EQ(gpu.memory_bytes(), uint64_t{80} << 30);
  EXPECT_EQ(gpu.problem(), "");
}

TEST_F(GpuNode, RunsOnTwoGpusSeeOneEachAndTheCpuRunNone) {
  StartWorker("node-a", TwoGpus(), ", nccl_interface: lo");
  const std::string first = cluster_.Submit(GpuRun(1, 100'000));
  const std::string second = cluster_.Submit(GpuRun(1, 100'000, "auto"));
  const std::string third = cluster_.Submit(GpuRun(1, 100'000, "cpu"));
  EXPECT_EQ(SlotsOf(cluster_.WaitForStep(first, 1)), std::vector<std::string>{"node-a:gpu-0"});
  EXPECT_EQ(SlotsOf(cluster_.WaitForStep(second, 1)), std::vector<std::string>{"node-a:gpu-1"});
  EXPECT_EQ(SlotsOf(cluster_.WaitForStep(third, 1)), std::vector<std::string>{"node-a:cpu-0"});
  std::vector<std::string> visible;
  for (const int pid : ChildrenOf(cluster_.worker("node-a").pid())) {
    visible.push_back(EnvironmentOf(pid, "CUDA_VISIBLE_DEVICES"));
    const bool on_gpu = !visible.back().empty();
    EXPECT_EQ(EnvironmentOf(pid, "NCCL_SOCKET_IFNAME"), on_gpu ? "lo" : "");
    EXPECT_EQ(EnvironmentOf(pid, "NCCL_DEBUG"), on_gpu ? "WARN" : "");
  }
  std::sort(visible.begin(), visible.end());
  EXPECT_EQ(visible, (std::vector<std::string>{"", "GPU-aaaa", "GPU-bbbb"}));
}

TEST_F(GpuNode, TheRanksOfSeveralGpusGetTheIdOfRankZero) {
  StartWorker("node-a", TwoGpus());
  const v1::Run run = cluster_.WaitForEnd(cluster_.Submit(GpuRun(2, 5)));
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 1u);
}

TEST_F(GpuNode, ARunForGpusWaitsWithTheReasonUntilThereIsOne) {
  cluster_.StartWorker("node-a", {.slots = 2});
  const std::string id = cluster_.Submit(GpuRun(1, 5));
  const v1::Run waiting = cluster_.WaitForState(id, v1::RUN_STATE_QUEUED);
  EXPECT_NE(waiting.reason().find("no GPU in the fleet"), std::string::npos) << waiting.reason();
  StartWorker("node-b", TwoGpus());
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(SlotsOf(run), std::vector<std::string>{"node-b:gpu-0"});
}

TEST_F(GpuNode, AutoWaitsForAGpuWhereOnlyAGpuCanDoIt) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string id = cluster_.Submit(GpuRun(1, 5, "auto") + "precision: fp16\n");
  const v1::Run run = cluster_.WaitForState(id, v1::RUN_STATE_QUEUED);
  EXPECT_NE(run.reason().find("no GPU in the fleet"), std::string::npos) << run.reason();
}

TEST_F(GpuNode, ALostGpuIsShownAndItsRunGoesOnElsewhere) {
  StartWorker("node-a", TwoGpus("lost=1"));
  StartWorker("node-b", TwoGpus());
  EXPECT_NE(cluster_.Nodes()[0].gpu_problem() + cluster_.Nodes()[1].gpu_problem(), "");
  const std::string id = cluster_.Submit(GpuRun(1, 1'000'000));
  EXPECT_EQ(SlotsOf(cluster_.WaitForStep(id, 1)), std::vector<std::string>{"node-a:gpu-0"});
  Describe("node-a", "driver version=580.65.06 cuda=13000\n");
  const v1::Run run = cluster_.WaitFor(id, [](const v1::Run& now) {
    return now.state() == v1::RUN_STATE_RUNNING && now.epoch() == 2;
  });
  EXPECT_EQ(SlotsOf(run), std::vector<std::string>{"node-b:gpu-0"});
  EXPECT_NE(SlotOf("node-a", "gpu-0").problem().find("does not answer"), std::string::npos);
  bool said = false;
  for (const v1::RunEvent& event : cluster_.Events(id)) {
    said = said || event.reason().find("does not answer") != std::string::npos;
  }
  EXPECT_TRUE(said) << "no event names the lost GPU";
}

TEST_F(GpuNode, ABrokenDriverIsShownAndTheReasonOfTheRun) {
  StartWorker("node-a", "init code=18\n");
  const std::string id = cluster_.Submit(GpuRun(1, 5));
  const v1::Run run = cluster_.WaitForState(id, v1::RUN_STATE_QUEUED);
  EXPECT_NE(run.reason().find("version mismatch"), std::string::npos) << run.reason();
  ASSERT_EQ(cluster_.Nodes().size(), 1u);
  EXPECT_NE(cluster_.Nodes()[0].gpu_problem().find("reboot"), std::string::npos);
}

TEST_F(GpuNode, WithoutItsTrainerAGpuIsNotUsedUntilItIsInstalled) {
  const std::string program = cluster_.directory() + "/gp-trainer-cuda";
  Describe("node-a", TwoGpus());
  cluster_.StartWorker(
      "node-a", {.slots = 1,
                 .environment = {"GP_FAKE_NVML=" + DescriptionOf("node-a")},
                 .config = fmt::format("gpu: {{library: {}, trainer: {}, check_interval: 20ms}}\n",
                                       std::getenv("GP_FAKE_NVML_LIBRARY"), program),
                 .gpus = true});
  const std::string id = cluster_.Submit(GpuRun(1, 5));
  const v1::Run waiting = cluster_.WaitForState(id, v1::RUN_STATE_QUEUED);
  EXPECT_NE(waiting.reason().find(program), std::string::npos) << waiting.reason();
  // Copy and rename, because the agent looks every 20 ms and must not find a half-written program.
  std::filesystem::copy_file(std::getenv("GP_FAKE_TRAINER"), program + ".new");
  std::filesystem::rename(program + ".new", program);
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
}

}  // namespace
}  // namespace gp::testing
