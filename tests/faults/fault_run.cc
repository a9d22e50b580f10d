#include "faults/fault_run.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/status.h"

namespace gp::testing {
namespace {

constexpr int kTextLines = 400;

std::string TrainWithoutDisturbance(int steps) {
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 1});
  const std::string run = cluster.Submit(FaultRun(1, steps));
  const v1::Run end = cluster.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.failures(), 0) << end.reason();
  return FinalWeights(cluster, run);
}

}  // namespace

std::string FaultRun(int workers, int steps) {
  return fmt::format(
      "apiVersion: gp/v1\n"
      "name: faults\n"
      "model: {{n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 16, dropout: 0.1}}\n"
      "data: {{text: [text.txt], tokenizer: bytes}}\n"
      "resources: {{workers: {}, max_workers: 4}}\n"
      "batch: {{micro_batch: 2, sequence: 16, total_tokens: 256}}\n"
      "schedule: {{warmup_steps: 10}}\n"
      "budget: {{steps: {}}}\n"
      "checkpoint: {{every: 10, keep_last: 2}}\n"
      "retries: {{max: 100, backoff: 50ms, backoff_max: 200ms}}\n",
      workers, steps);
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

const std::string& UndisturbedWeights(int steps) {
  static std::map<int, std::string> weights;
  const auto found = weights.find(steps);
  if (found != weights.end()) return found->second;
  return weights[steps] = TrainWithoutDisturbance(steps);
}

}  // namespace gp::testing
