// Goal: the trainer of GPT-2 small stays within its forecast, and within 2.6 GB for 4 x 64 tokens
// in fp32, from start to final checkpoint. Needs 3 GB and half a minute.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "plan/memory_forecast.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

constexpr char kRunFile[] = R"(apiVersion: gp/v1
name: peak
preset: gpt2-124m
model: {{pad_vocab_to: 50304}}
data: {{text: ["{}"], tokenizer: chars, order: random, val_fraction: 0.3}}
resources: {{workers: 1, threads: 2, device: cpu}}
batch: {{micro_batch: 4, sequence: 64, total_tokens: 256}}
budget: {{steps: 2}}
precision: fp32
eval: {{every: 0, batches: 1}}
sample: {{every: 0}}
checkpoint: {{every: 0}}
)";

// The memory forecast for the run file above, if these parts are trained.
runspec::MemoryForecast Forecast(const std::vector<std::string>& train = {}) {
  runspec::RunSpec spec;
  spec.model = *runspec::NamedModelShape("124M");
  spec.batch = {.micro_batch = 4, .sequence = 64, .total_tokens = 256};
  spec.checkpoint.snapshot_memory = 0;
  spec.precision = runspec::Precision::kFp32;
  spec.train = train;
  return runspec::ForecastMemory(
      spec, {.logical_shards = 1, .accumulation = 1, .tokens_per_step = 256}, 2);
}

// The peak memory of two trainers: one trains two steps, the other resumes from their checkpoint.
int64_t PeakOfTraining(const std::string& settings = "") {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 20; ++i) text += TinyText();
  directory.Write("run.yaml", fmt::format(kRunFile, directory.Write("text.txt", text)) + settings);
  for (const char* steps : {"budget.steps=2", "budget.steps=4"}) {
    const std::vector<std::string> arguments = {
        "--spec", directory.File("run.yaml"), "--out", directory.File("out"), "--set", steps};
    EXPECT_EQ(TrainerProcess(arguments, /*managed=*/false).Wait(), 0);
  }
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  return int64_t{usage.ru_maxrss} * 1024;
}

void ExpectAtMost(int64_t peak, const runspec::MemoryForecast& forecast) {
  std::printf("peak %.3f GB, forecast %.3f GB\n", static_cast<double>(peak) / 1e9,
              static_cast<double>(forecast.total_bytes()) / 1e9);
  EXPECT_LE(peak, forecast.total_bytes());
}

TEST(PeakMemory, OfTheTrainerOfGpt2SmallIsItsForecast) {
  const int64_t peak = PeakOfTraining();
  ExpectAtMost(peak, Forecast());
  EXPECT_LE(peak, 2'600'000'000);
}

TEST(PeakMemory, OfATrainerOfTwoBlocksLeavesOutWhatIsFrozen) {
  ExpectAtMost(PeakOfTraining("train: [last 2 blocks, ln_f]\n"),
               Forecast({"last 2 blocks", "ln_f"}));
}

}  // namespace
}  // namespace gp::engine
