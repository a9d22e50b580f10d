// gpctl's output and checks about GPUs, with sample documents instead of a real driver.
#include "client/gpctl/doctor/gpu_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/fake_run_service.h"
#include "client/gpctl/golden.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/render/node_text.h"

namespace gp::testing {
namespace {

using gpctl::Grade;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kNow = 1763716440;

v1::Node GpuNode() {
  v1::Node node;
  node.set_node_id("n1");
  node.set_name("node-a");
  node.set_connected(true);
  node.set_version("0.1.0");
  node.set_gpu_driver("580.65.06, CUDA 13.0");
  node.mutable_last_heard_at()->set_seconds(static_cast<int64_t>(kNow) - 1);
  for (int i = 0; i < 2; ++i) {
    v1::Slot& cores = *node.add_slots();
    cores.set_slot_id("cpu-" + std::to_string(i));
    cores.set_device("cpu");
  }
  node.mutable_slots(0)->set_run_id("7f3k2q9a0c");
  for (int i = 0; i < 3; ++i) {
    v1::Slot& gpu = *node.add_slots();
    gpu.set_slot_id("gpu-" + std::to_string(i));
    gpu.set_device("GPU-" + std::to_string(i));
    gpu.set_device_name("NVIDIA H100 80GB HBM3");
    gpu.set_compute_capability("9.0");
    gpu.set_memory_bytes(uint64_t{80} << 30);
  }
  node.mutable_slots(2)->set_run_id("7f3k2q9a0d");
  node.mutable_slots(4)->set_problem("GPU 2 (NVIDIA H100) does not answer: GPU is lost");
  return node;
}

v1::NodesResponse NodesOf(const std::vector<v1::Node>& nodes) {
  v1::NodesResponse response;
  for (const v1::Node& node : nodes) *response.add_nodes() = node;
  return response;
}

TEST(NodeTable, HasARowForEachGpuAndSaysWhatIsNotUsed) {
  v1::Node lost;
  lost.set_name("node-b");
  lost.set_version("0.1.0");
  lost.set_gpu_problem("Driver/library version mismatch; reboot");
  lost.mutable_last_heard_at()->set_seconds(static_cast<int64_t>(kNow) - 90);
  ExpectGolden("nodes_120.txt", gpctl::NodeTable(NodesOf({GpuNode(), lost}), kNow, {120, true}));
}

TEST(NodeTable, SaysOfANodeThatIsConnectedHowLongItIsSilent) {
  v1::Node node = GpuNode();
  node.mutable_last_heard_at()->set_seconds(static_cast<int64_t>(kNow) - 20);
  v1::NodesResponse nodes = NodesOf({node});
  nodes.mutable_lease()->set_seconds(60);
  EXPECT_THAT(gpctl::NodeTable(nodes, kNow, {120, true}), HasSubstr("connected"));
  EXPECT_THAT(gpctl::NodeTable(nodes, kNow + 12, {120, true}),
              HasSubstr("silent, heard 32s ago; lost after 1m"));
  // Only the coordinator decides that a node is lost: after its start it gives each a full lease.
  nodes.mutable_nodes(0)->set_lost(true);
  EXPECT_THAT(gpctl::NodeTable(nodes, kNow + 50, {120, true}), HasSubstr("lost, heard 1m10s ago"));
  EXPECT_EQ(gpctl::NodeStateName(nodes.nodes(0)), "lost");
}

class GpuCommandTest : public ::testing::Test {
 protected:
  GpuCommandTest() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  void WriteProgram(const std::string& name, const std::string& output) {
    const std::string path = gpctl_.home() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\ncat <<'END'\n" << output << "\nEND\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(GpuCommandTest, WorkersListShowsTheGpus) {
  EXPECT_THAT(gpctl_.Run({"workers", "list"}).err, HasSubstr("No node has joined"));
  service_.AddNode(GpuNode());
  EXPECT_THAT(gpctl_.Run({"workers", "list"}).out, HasSubstr("gpu-1  NVIDIA H100 80GB HBM3"));
  EXPECT_THAT(gpctl_.Run({"nodes", "list"}).out, HasSubstr("run 7f3k2q9a0d"));
  const json document = json::parse(gpctl_.Run({"workers", "list", "-o", "json"}).out);
  EXPECT_EQ(document["kind"], "NodeList");
  EXPECT_EQ(document["items"][0]["gpu_driver"], "580.65.06, CUDA 13.0");
  EXPECT_EQ(document["items"][0]["slots"][3]["compute_capability"], "9.0");
}

TEST_F(GpuCommandTest, StatusNamesTheGpusOfARun) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  for (int rank = 0; rank < 2; ++rank) {
    auto* place = run.add_placement();
    place->set_rank(rank);
    place->set_node_name("node-a");
    place->set_slot_id("gpu-" + std::to_string(rank));
  }
  service_.AddRun(run);
  EXPECT_THAT(gpctl_.Run({"status", "a"}).out, HasSubstr("2 ranks on node-a:gpu-0,gpu-1"));
}

const char* const kGpus = R"({"driver": "580.65.06, CUDA 13.0", "problem": "", "gpus": [
  {"slot": "gpu-0", "name": "NVIDIA H100", "memory_bytes": 85899345920,
   "compute_capability": "9.0", "problem": ""},
  {"slot": "gpu-1", "name": "NVIDIA H100", "memory_bytes": 85899345920,
   "compute_capability": "9.0", "problem": "GPU 1 does not answer: GPU is lost; reboot"}]})";
const char* const kSupport = R"({"libraries": [
  {"name": "CUDA runtime", "version": "13.0", "problem": ""},
  {"name": "NCCL", "version": "", "problem": "libnccl.so.2 was not found"}],
  "devices": [{"name": "NVIDIA H100", "modes": [
    {"name": "bf16", "works": true, "why": ""},
    {"name": "fp8", "works": false, "why": "needs compute capability 8.9"}]}]})";

TEST(GpuChecks, TellTheDriverAndEachGpu) {
  const auto findings = gpctl::CheckGpus(kGpus);
  EXPECT_EQ(findings.gpus, 2);
  ASSERT_EQ(findings.checks.size(), 3u);
  EXPECT_EQ(findings.checks[0].grade, Grade::kOk);
  EXPECT_EQ(findings.checks[1].finding, "NVIDIA H100, 80.0 GiB, compute capability 9.0");
  EXPECT_EQ(findings.checks[2].grade, Grade::kFail);
  EXPECT_EQ(findings.checks[2].fix, "reboot");
}

TEST(GpuChecks, AnOldDriverFailsWithTheWayOut) {
  const auto findings = gpctl::CheckGpus(R"({"driver": "550.54, CUDA 12.4", "gpus": []})");
  EXPECT_EQ(findings.checks[0].grade, Grade::kFail);
  EXPECT_THAT(findings.checks[0].fix, HasSubstr("580"));
}

TEST(GpuChecks, WithoutAGpuTheCpuWorks) {
  const auto findings = gpctl::CheckGpus(R"({"driver": "", "problem": "", "gpus": []})");
  ASSERT_EQ(findings.checks.size(), 1u);
  EXPECT_EQ(findings.checks[0].grade, Grade::kOk);
  EXPECT_THAT(findings.checks[0].finding, HasSubstr("CPU"));
}

TEST(GpuChecks, ABrokenDriverFails) {
  const auto findings =
      gpctl::CheckGpus(R"({"problem": "NVML: version mismatch; reboot", "gpus": []})");
  ASSERT_EQ(findings.checks.size(), 1u);
  EXPECT_EQ(findings.checks[0].grade, Grade::kFail);
  EXPECT_EQ(findings.checks[0].fix, "reboot");
}

TEST(GpuChecks, TellTheLibrariesAndWhatWorks) {
  const auto checks = gpctl::CheckSupport(kSupport, 2);
  ASSERT_EQ(checks.size(), 5u);
  EXPECT_EQ(checks[0].finding, "13.0");
  EXPECT_EQ(checks[1].grade, Grade::kFail);
  EXPECT_EQ(checks[3].finding, "works");
  EXPECT_EQ(checks[4].grade, Grade::kOk);
  EXPECT_EQ(checks[4].finding, "off: needs compute capability 8.9");
  EXPECT_EQ(gpctl::CheckSupport("gp-trainer 1", 1).at(0).grade, Grade::kFail);
}

TEST(GpuChecks, OneGpuNeedsNoNccl) {
  EXPECT_EQ(gpctl::CheckSupport(kSupport, 1).at(1).grade, Grade::kWarning);
}

TEST(GpuChecks, SharedAndLockedMemoryWarn) {
  EXPECT_EQ(gpctl::CheckSharedMemory(uint64_t{64} << 20, 2).grade, Grade::kWarning);
  EXPECT_EQ(gpctl::CheckSharedMemory(uint64_t{64} << 20, 1).grade, Grade::kOk);
  EXPECT_EQ(gpctl::CheckSharedMemory(uint64_t{8} << 30, 8).grade, Grade::kOk);
  EXPECT_EQ(gpctl::CheckLockedMemory(uint64_t{8} << 20).grade, Grade::kWarning);
  EXPECT_EQ(gpctl::CheckLockedMemory(~uint64_t{0}).finding, "no limit");
}

TEST_F(GpuCommandTest, TheDoctorAsksTheProgramsOfAGpuMachine) {
  WriteProgram("gp-worker", kGpus);
  const std::string without = gpctl_.Run({"doctor"}).out;
  EXPECT_THAT(without, HasSubstr("ok    GPU driver      580.65.06"));
  EXPECT_THAT(without, HasSubstr("FAIL  gp-trainer-cuda"));
  EXPECT_THAT(without, HasSubstr("-> make gpu"));
  WriteProgram("gp-trainer-cuda", kSupport);
  const std::string with = gpctl_.Run({"doctor"}).out;
  EXPECT_THAT(with, HasSubstr("FAIL  NCCL            libnccl.so.2 was not found"));
  EXPECT_THAT(with, HasSubstr("fp8           off: needs compute capability 8.9"));
  EXPECT_THAT(with, HasSubstr("/dev/shm"));
}

}  // namespace
}  // namespace gp::testing
