// Goal: gp-bench works as a program: text and JSON reports, the arena plan, the tuning cache, the
// ladder, and exit code 2 with a reason after a usage error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/base/temporary_directory.h"
#include "plan/training_plan.h"
#include "worker/bench/program_outcome.h"

namespace gp::engine {
namespace {

Outcome RunBench(const std::string& arguments) { return RunProgram("gp-bench", arguments); }

TEST(GpBench, TimesAStep) {
  const Outcome text =
      RunBench("step --model tiny --batch 2 --steps 3 --threads 1 --precision bf16");
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, testing::HasSubstr("tokens/s, MFU"));
  const Outcome json = RunBench("step --model tiny --batch 2 --steps 3 --threads 1 -o json");
  const auto report = nlohmann::json::parse(json.output);
  EXPECT_EQ(report.at("steps"), 3);
  EXPECT_EQ(report.at("precision"), "fp32");
  EXPECT_GT(report.at("step_ms").at("median").get<double>(), 0);
  EXPECT_GT(report.at("mfu").get<double>(), 0);
}

TEST(GpBench, TimesAStepThatTrainsPartsOfTheModel) {
  const std::string step = "step --model tiny --batch 2 --steps 3 --threads 1 ";
  const Outcome some = RunBench(step + "--train 'last 1 block' --train ln_f -o json");
  ASSERT_EQ(some.exit_code, 0) << some.output;
  const auto bytes = [](const Outcome& outcome) {
    return nlohmann::json::parse(outcome.output).at("engine_bytes").get<int64_t>();
  };
  EXPECT_LT(bytes(some), bytes(RunBench(step + "-o json")));
  const Outcome none = RunBench(step + "--train 'block 99'");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, testing::HasSubstr("--train: 'block 99' is not a part of the model"));
}

TEST(GpBench, TimesEachOperationOfAStep) {
  const Outcome answer =
      RunBench("step --model tiny --batch 2 --threads 1 --steps 2 --warmup 1 --profile -o json");
  ASSERT_EQ(answer.exit_code, 0) << answer.output;
  const auto report = nlohmann::json::parse(answer.output);
  EXPECT_EQ(report["device"], "cpu");
  std::map<std::string, int> calls;
  for (const auto& operation : report["operations"]) {
    EXPECT_GE(operation["ms"].get<double>(), 0);
    calls[operation["name"]] = operation["calls"];
  }
  EXPECT_EQ(calls["attention forward"], 4);
  EXPECT_EQ(calls["linear forward 128 to 384"], 4);
  EXPECT_EQ(calls["embedding"], 1);
}

TEST(GpBench, HasNoGpuToMeasure) {
  for (const std::string command : {"step", "ladder"}) {
    const Outcome answer = RunBench(command + " --model tiny --device gpu");
    EXPECT_EQ(answer.exit_code, 2) << answer.output;
    EXPECT_THAT(answer.output, testing::HasSubstr("this program computes on CPUs"));
    EXPECT_THAT(answer.output, testing::HasSubstr("make gpu"));
  }
  const Outcome tune = RunBench("tune --model tiny --device gpu");
  EXPECT_EQ(tune.exit_code, 2) << tune.output;
  EXPECT_THAT(tune.output, testing::HasSubstr("--device cpu"));
}

TEST(GpBench, PrintsThePlanThatTheEngineUses) {
  const Outcome outcome = RunBench("plan --model 124M --batch 4 --sequence 64 --threads 2 -o json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto plan = nlohmann::json::parse(outcome.output);
  const runspec::ArenaOptions options{.micro_batch = 4, .sequence = 64, .threads = 2};
  const runspec::ModelShape shape = *runspec::NamedModelShape("124M");
  EXPECT_EQ(plan.at("arena_bytes"), runspec::MakeArenaPlan(shape, options).total_bytes);
  EXPECT_EQ(plan.at("training_bytes"), runspec::TrainingBytes(shape, {.arena = options}));
  EXPECT_EQ(plan.at("tensors").front().at("name"), "parameters");
}

TEST(GpBench, TimesEachKernel) {
  const Outcome outcome = RunBench(
      "kernels --model tiny --batch 1 --sequence 8 --threads 1 --seconds 0.001 --precision bf16 "
      "-o json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto report = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(report.at("kind"), "KernelBench");
  EXPECT_GT(report.at("peak_gflops_measured").get<double>(), 0);
  for (const auto& operation : report.at("operations")) {
    EXPECT_GT(operation.at("ms").at("median").get<double>(), 0) << operation;
    EXPECT_NE(operation.contains("gflops"), operation.contains("gigabytes_per_second"));
  }
  const std::string filter = "kernels --model tiny --batch 1 --sequence 8 --filter AdamW -o json";
  EXPECT_EQ(nlohmann::json::parse(RunBench(filter).output).at("operations").size(), 1);
}

TEST(GpBench, PrintsThePeakOfAmxOrWhyThereIsNone) {
  const Outcome outcome =
      RunBench("kernels --model tiny --batch 1 --sequence 8 --seconds 0.001 --filter c_fc");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const bool none = outcome.output.find("\nno AMX: ") != std::string::npos;
  const bool some = outcome.output.find("\nmeasured AMX peak ") != std::string::npos;
  EXPECT_NE(none, some) << outcome.output;
}

TEST(GpBench, ReadsBatches) {
  const Outcome loader =
      RunBench("loader --tokens 100000 --batch 4 --sequence 64 --batches 8 -o json");
  ASSERT_EQ(loader.exit_code, 0) << loader.output;
  const auto report = nlohmann::json::parse(loader.output);
  EXPECT_GT(report.at("cold_tokens_per_second").get<double>(), 0);
  EXPECT_GT(report.at("warm_tokens_per_second").get<double>(), 0);
  EXPECT_GE(report.at("paced").at("wait_share").get<double>(), 0);
}

TEST(GpBench, ReadsBatchesFromAMixtureAndFromText) {
  const std::string sizes = " --batch 4 --sequence 64 --batches 8 -o json";
  const Outcome mixture = RunBench("loader --mixture --order shuffled --tokens 100000" + sizes);
  ASSERT_EQ(mixture.exit_code, 0) << mixture.output;
  EXPECT_TRUE(nlohmann::json::parse(mixture.output).at("mixture").get<bool>());
  const TemporaryDirectory directory;
  const std::string text = directory.File("text.txt");
  std::ofstream(text) << "It was a bright cold day in April.\n";
  const Outcome stream = RunBench("loader --tokenizer bytes --stream " + text + sizes);
  ASSERT_EQ(stream.exit_code, 0) << stream.output;
  EXPECT_GT(nlohmann::json::parse(stream.output).at("first_batch_ms").get<double>(), 0);
}

TEST(GpBench, RemembersWhatItTuned) {
  const TemporaryDirectory cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const std::string tune =
      "tune --model tiny --batch 1 --sequence 4 --threads 1 --isa generic -o json";
  const auto dry = nlohmann::json::parse(RunBench(tune + " --dry-run").output);
  EXPECT_EQ(dry.at("written"), false);
  EXPECT_FALSE(std::filesystem::exists(dry.at("file").get<std::string>()));
  const auto report = nlohmann::json::parse(RunBench(tune).output);
  EXPECT_EQ(report.at("written"), !report.at("changes").empty());
  EXPECT_EQ(std::filesystem::exists(report.at("file").get<std::string>()), report.at("written"));
  unsetenv("XDG_CACHE_HOME");
}

TEST(GpBench, ClimbsTheLadder) {
  const TemporaryDirectory directory;
  const std::string chart = directory.File("ladder.svg");
  const Outcome outcome = RunBench(
      "ladder --model tiny --batch 1 --sequence 8 --threads 2 --steps 1 --tokens-max 16 -o json "
      "--chart " +
      chart + " 2>/dev/null");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto report = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(report.at("rungs").size(), 15);
  EXPECT_EQ(report.at("rungs").front().at("gain"), 1);
  for (const auto& rung : report.at("rungs")) {
    EXPECT_NE(rung.contains("not_climbed"), rung.contains("step_ms")) << rung;
  }
  EXPECT_TRUE(std::filesystem::exists(chart));
}

TEST(GpBench, RefusesBadUsageWithTheReason) {
  const Outcome model = RunBench("step --model 125M");
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.output, testing::HasSubstr("124M"));
  const Outcome isa = RunBench("step --model tiny --isa sse9");
  EXPECT_EQ(isa.exit_code, 2);
  EXPECT_THAT(isa.output, testing::HasSubstr("avx512_bf16"));
  const Outcome sequence = RunBench("step --model tiny --sequence 65");
  EXPECT_EQ(sequence.exit_code, 2);
  EXPECT_THAT(sequence.output, testing::HasSubstr("context of 64"));
  EXPECT_EQ(RunBench("").exit_code, 2);
}

}  // namespace
}  // namespace gp::engine
