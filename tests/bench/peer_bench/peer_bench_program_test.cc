// Goal: gp-peer-bench works as a user runs it: its extra commands, and a missing peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/base/temporary_directory.h"
#include "worker/bench/program_outcome.h"

namespace gp::engine {
namespace {

Outcome RunBench(const std::string& arguments) { return RunProgram("gp-peer-bench", arguments); }

TEST(GpPeerBench, HasTheCommandsOfGpBench) {
  const Outcome step = RunBench("step --model tiny --batch 2 --steps 3 --threads 1 -o json");
  ASSERT_EQ(step.exit_code, 0) << step.output;
  EXPECT_EQ(nlohmann::json::parse(step.output).at("steps"), 3);
  EXPECT_EQ(RunBench("plan --model tiny").exit_code, 0);
}

TEST(GpPeerBench, ComparesItsGradientsWithTheReferenceEngines) {
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

TEST(GpPeerBench, TimesTheAllReduceOfProcesses) {
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
  EXPECT_NE(no_gpus.output.find("gp-peer-bench-cuda"), std::string::npos) << no_gpus.output;
}

TEST(GpPeerBench, WritesText) {
  const Outcome sample =
      RunBench("sample --model tiny --prompt 4 --tokens 8 --batch 2 --steps 2 --threads 1 -o json");
  ASSERT_EQ(sample.exit_code, 0) << sample.output;
  EXPECT_GT(nlohmann::json::parse(sample.output).at("tokens_per_second").get<double>(), 0);
  const Outcome long_text = RunBench("sample --model tiny --prompt 60 --tokens 8");
  EXPECT_EQ(long_text.exit_code, 2);
  EXPECT_THAT(long_text.output, testing::HasSubstr("do not fit"));
}

TEST(GpPeerBench, EncodesAText) {
  const TemporaryDirectory directory;
  const std::string text = directory.File("text.txt");
  std::ofstream(text) << "It was a bright cold day in April,\nand the clocks were striking.\n";
  const Outcome outcome =
      RunBench("tokenizer --threads 2 --piece 8 --steps 2 -o json --text " + text);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(outcome.output).at("tokens"), 17);
  // A token may span line ends. The four tokens: "a", two line ends, one line end, "b".
  std::ofstream(text) << "a\n\n\nb";
  const Outcome cut = RunBench("tokenizer --threads 2 --piece 1 --steps 2 -o json --text " + text);
  EXPECT_EQ(nlohmann::json::parse(cut.output).at("tokens"), 4) << cut.output;
}

TEST(GpPeerBench, LearnsAVocabulary) {
  const TemporaryDirectory directory;
  const std::string text = directory.File("text.txt");
  std::ofstream(text) << "the cat, the dog and the end of the matter\n";
  const std::string learn = "tokenizer --learn 259 --threads 2 --steps 2 -o json --text " + text;
  const Outcome outcome = RunBench(learn);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(outcome.output).at("tokens"), 259);
  EXPECT_NE(RunBench(learn + " --peer tiktoken").exit_code, 0);
}

TEST(GpPeerBench, SaysWhatToDoWithoutThePeersPython) {
  const Outcome outcome =
      RunBench("step --model tiny --peer torch --steps 1 --python /does/not/exist/python");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, testing::HasSubstr("/does/not/exist/python"));
}

}  // namespace
}  // namespace gp::engine
