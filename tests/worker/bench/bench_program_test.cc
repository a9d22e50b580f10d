// Goal: gp-bench as a user runs it: text and JSON reports, the arena plan, the tuning cache, the
// ladder, and exit code 2 with the reason for bad usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/base/temporary_directory.h"
#include "plan/training_plan.h"

namespace gp::engine {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

Outcome RunBench(const std::string& arguments) {
  const std::string command = std::string(std::getenv("GP_BIN")) + "/gp-bench 2>&1 " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  char chunk[4096];
  while (const size_t count = fread(chunk, 1, sizeof(chunk), pipe))
    outcome.output.append(chunk, count);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

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
  EXPECT_THAT(none.output, testing::HasSubstr("--train: 'block 99' is no part of the model"));
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

TEST(GpBench, ComparesItsGradientsWithTheReferenceEngines) {
  const std::string command = "gradients --model tiny --batch 2 --threads 1 -o json ";
  const Outcome close = RunBench(command + "--tolerance 1e-5");
  ASSERT_EQ(close.exit_code, 0) << close.output;
  const auto report = nlohmann::json::parse(close.output);
  EXPECT_EQ(report["kind"], "GradientCheck");
  EXPECT_LT(report["gradient_error"].get<double>(), 1e-5);
  EXPECT_NEAR(report["loss"].get<double>(), report["reference_loss"].get<double>(), 1e-5);
  const Outcome far = RunBench(command + "--precision bf16 --tolerance 1e-6");
  EXPECT_EQ(far.exit_code, 1);
  EXPECT_THAT(far.output, testing::HasSubstr("more than 1.0e-06; most in "));
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

TEST(GpBench, TimesTheAllReduceOfProcesses) {
  for (const char* transport : {"shm", "tcp"}) {
    const Outcome outcome =
        RunBench("allreduce --size 100KB --ranks 2,3 --steps 2 --warmup 1 -o json --transport " +
                 std::string(transport));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto report = nlohmann::json::parse(outcome.output);
    EXPECT_EQ(report.at("size_bytes"), 100000);
    ASSERT_EQ(report.at("results").size(), 2u);
    for (const auto& result : report.at("results")) {
      const double ms = result.at("ms").at("median");
      const double n = result.at("ranks");
      EXPECT_NEAR(result.at("bus_gb_per_second").at("median"), 2 * (n - 1) / n * 1e5 / (ms * 1e6),
                  1e-9);
    }
  }
  EXPECT_EQ(RunBench("allreduce --ranks 0").exit_code, 2);
  const Outcome no_gpus = RunBench("allreduce --transport nccl");
  EXPECT_EQ(no_gpus.exit_code, 1);
  EXPECT_NE(no_gpus.output.find("gp-bench-cuda"), std::string::npos) << no_gpus.output;
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

TEST(GpBench, WritesTextAndReadsBatches) {
  const Outcome sample =
      RunBench("sample --model tiny --prompt 4 --tokens 8 --batch 2 --steps 2 --threads 1 -o json");
  ASSERT_EQ(sample.exit_code, 0) << sample.output;
  EXPECT_GT(nlohmann::json::parse(sample.output).at("tokens_per_second").get<double>(), 0);
  const Outcome long_text = RunBench("sample --model tiny --prompt 60 --tokens 8");
  EXPECT_EQ(long_text.exit_code, 2);
  EXPECT_THAT(long_text.output, testing::HasSubstr("do not fit"));
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

TEST(GpBench, EncodesAText) {
  const TemporaryDirectory directory;
  const std::string text = directory.File("text.txt");
  std::ofstream(text) << "It was a bright cold day in April,\nand the clocks were striking.\n";
  const Outcome outcome =
      RunBench("tokenizer --threads 2 --piece 8 --steps 2 -o json --text " + text);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(outcome.output).at("tokens"), 17);
  // Tokens of the text, also where they reach over a line's end: "a", two line ends, one, "b".
  std::ofstream(text) << "a\n\n\nb";
  const Outcome cut = RunBench("tokenizer --threads 2 --piece 1 --steps 2 -o json --text " + text);
  EXPECT_EQ(nlohmann::json::parse(cut.output).at("tokens"), 4) << cut.output;
}

TEST(GpBench, LearnsAVocabulary) {
  const TemporaryDirectory directory;
  const std::string text = directory.File("text.txt");
  std::ofstream(text) << "the cat, the dog and the end of the matter\n";
  const std::string learn = "tokenizer --learn 259 --threads 2 --steps 2 -o json --text " + text;
  const Outcome outcome = RunBench(learn);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(outcome.output).at("tokens"), 259);
  EXPECT_NE(RunBench(learn + " --peer tiktoken").exit_code, 0);
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

TEST(GpBench, SaysWhatToDoWithoutThePeersPython) {
  const Outcome outcome =
      RunBench("step --model tiny --peer torch --steps 1 --python /does/not/exist/python");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, testing::HasSubstr("/does/not/exist/python"));
}

}  // namespace
}  // namespace gp::engine
