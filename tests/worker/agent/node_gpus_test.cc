#include "worker/agent/node_gpus.h"

#include <nlohmann/json.hpp>

#include "worker/agent/fake_gpus.h"

namespace gp::agent {
namespace {

WorkerSettings WithLibrary(const std::string& library) {
  WorkerSettings settings;
  settings.gpu_library = library;
  settings.gpu_trainer_program = "/bin/sh";
  return settings;
}

TEST(NodeGpus, OffersASlotForEachGpu) {
  const FakeGpus fake(kTwoGpus);
  const NodeGpus gpus = FindGpus(WithLibrary(FakeGpus::Library()), nullptr, "/programs", {0, 1});
  EXPECT_EQ(gpus.driver, "580.65.06, CUDA 13.0");
  EXPECT_EQ(gpus.problem, "");
  ASSERT_EQ(gpus.slots.size(), 2u);
  EXPECT_EQ(gpus.slots[0].id, "gpu-0");
  EXPECT_EQ(gpus.slots[0].device_name, "NVIDIA H100");
  EXPECT_EQ(gpus.slots[0].health, SlotHealth{});
  const auto json = nlohmann::json::parse(GpusJson(gpus));
  EXPECT_EQ(json["gpus"][1]["uuid"], "GPU-bbbb");
  EXPECT_EQ(json["gpus"][1]["problem"], "");
}

TEST(NodeGpus, WithoutTheirTrainerTheSlotsAreNotUsedAndSaySo) {
  const FakeGpus fake(kTwoGpus);
  WorkerSettings settings = WithLibrary(FakeGpus::Library());
  settings.gpu_trainer_program = "";
  const NodeGpus gpus = FindGpus(settings, nullptr, "/programs", {0});
  EXPECT_EQ(gpus.trainer_program, "/programs/gp-trainer-cuda");
  EXPECT_NE(gpus.slots[1].health.problem.find("/programs/gp-trainer-cuda"), std::string::npos);
  EXPECT_FALSE(gpus.slots[1].health.lost);
}

TEST(NodeGpus, ANodeWithoutADriverHasNoneAndNoProblem) {
  const NodeGpus gpus = FindGpus(WithLibrary("libgp-no-such-nvml.so.1"), nullptr, "/p", {0});
  EXPECT_FALSE(gpus.inventory.has_value());
  EXPECT_TRUE(gpus.slots.empty());
  EXPECT_EQ(gpus.problem, "");
}

TEST(NodeGpus, AGpuThatIsNamedOnANodeWithoutADriverIsAProblem) {
  WorkerSettings settings = WithLibrary("libgp-no-such-nvml.so.1");
  settings.gpu_devices = "3";
  const NodeGpus gpus = FindGpus(settings, nullptr, "/p", {0});
  EXPECT_TRUE(gpus.slots.empty());
  EXPECT_NE(gpus.problem.find("names '3'"), std::string::npos) << gpus.problem;
}

TEST(NodeGpus, ABrokenDriverIsAProblem) {
  const FakeGpus fake("init code=18\n");
  const NodeGpus gpus = FindGpus(WithLibrary(FakeGpus::Library()), nullptr, "/p", {0});
  EXPECT_TRUE(gpus.slots.empty());
  EXPECT_NE(gpus.problem.find("version mismatch"), std::string::npos);
}

TEST(NodeGpus, TheirTrainersSeeWhatNcclAndTheLinkerNeed) {
  const char* environment[] = {"LD_LIBRARY_PATH=/opt/cuda", "NCCL_DEBUG=INFO",
                               "NCCL_SOCKET_IFNAME=lo", "SECRET=1", nullptr};
  WorkerSettings settings;
  EXPECT_EQ(GpuEnvironment(environment, settings),
            (std::vector<std::string>{"LD_LIBRARY_PATH=/opt/cuda", "NCCL_DEBUG=INFO",
                                      "NCCL_SOCKET_IFNAME=lo"}));
  settings.nccl_interface = "eth0";
  EXPECT_EQ(GpuEnvironment(environment, settings),
            (std::vector<std::string>{"LD_LIBRARY_PATH=/opt/cuda", "NCCL_DEBUG=INFO",
                                      "NCCL_SOCKET_IFNAME=eth0"}));
}

}  // namespace
}  // namespace gp::agent
