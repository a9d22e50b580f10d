#include "faults/fault_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace gp::testing {
namespace {

constexpr int kTextLines = 400;

std::string TrainWithoutDisturbance(int steps, RankDevice device) {
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", NodeWith(cluster, 1, device));
  const std::string run = cluster.Submit(FaultRun(1, steps, device));
  const v1::Run end = cluster.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.failures(), 0) << end.reason();
  return FinalWeights(cluster, run);
}

std::string DescribeGpus(int count) {
  std::string text = "driver version=580.65.06 cuda=13000\n";
  for (int gpu = 0; gpu < count; ++gpu) {
    text +=
        fmt::format("gpu uuid=GPU-{} name=NVIDIA_H100 memory=85899345920 capability=9.0\n", gpu);
  }
  return text;
}

}  // namespace

uint64_t FaultSeed() {
  const char* given = std::getenv("GP_FAULT_SEED");
  return given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
}

std::string FaultRun(int workers, int steps, RankDevice device) {
  return fmt::format(
      "apiVersion: gp/v1\n"
      "name: faults\n"
      "model: {{n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 16, dropout: 0.1}}\n"
      "data: {{text: [text.txt], tokenizer: bytes}}\n"
      "resources: {{workers: {}, max_workers: 4, device: {}}}\n"
      "engine: {{zero1: {}}}\n"
      "deterministic: true\n"
      "batch: {{micro_batch: 2, sequence: 16, total_tokens: 256}}\n"
      "schedule: {{warmup_steps: 10}}\n"
      "budget: {{steps: {}}}\n"
      "checkpoint: {{every: 10, keep_last: 2}}\n"
      "retries: {{max: 100, backoff: 50ms, backoff_max: 200ms}}\n",
      workers, device == RankDevice::kCpu ? "cpu" : "gpu", device == RankDevice::kGpuZero1, steps);
}

WorkerSetup NodeWith(const Cluster& cluster, int slots, RankDevice device) {
  if (device == RankDevice::kCpu) return {.slots = slots};
  const std::string gpus = JoinPath(cluster.directory(), "gpus");
  const Status status = WriteFileAtomically(gpus, DescribeGpus(slots));
  EXPECT_TRUE(status.ok()) << status;
  return {.slots = 1,
          .environment = {"GP_FAKE_NVML=" + gpus,
                          fmt::format("GP_NCCL_LIBRARY={}", std::getenv("GP_FAKE_NCCL_LIBRARY"))},
          .config =
              fmt::format("gpu: {{library: {}, trainer: {}}}\n",
                          std::getenv("GP_FAKE_NVML_LIBRARY"), std::getenv("GP_EMULATED_TRAINER")),
          .gpus = true};
}

void WriteText(const Cluster& cluster) {
  std::string text;
  for (int line = 0; line < kTextLines; ++line) {
    text += fmt::format("line {} of a text that says {} and then {}.\n", line, line * 7919 % 1009,
                        line * line % 997);
  }
  const Status status = WriteFileAtomically(JoinPath(cluster.directory(), "text.txt"), text);
  EXPECT_TRUE(status.ok()) << status;
}

std::string FinalWeights(Cluster& cluster, const std::string& run) {
  const auto checkpoints = cluster.Checkpoints(run);
  EXPECT_FALSE(checkpoints.empty());
  if (checkpoints.empty()) return "";
  const auto bytes = ReadFile(JoinPath(checkpoints.back().directory(), "model.safetensors"));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

const std::string& UndisturbedWeights(int steps, RankDevice device) {
  static std::map<std::pair<int, RankDevice>, std::string> weights;
  const auto [place, is_new] = weights.try_emplace({steps, device});
  if (is_new) place->second = TrainWithoutDisturbance(steps, device);
  return place->second;
}

}  // namespace gp::testing
