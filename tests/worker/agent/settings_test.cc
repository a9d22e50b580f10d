#include "worker/agent/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "worker/agent/options.h"

namespace gp::agent {
namespace {

std::string ShippedFile() {
  return ReadFile(std::string(std::getenv("GP_SOURCE")) + "/configs/worker.yaml").value();
}

TEST(WorkerSettings, TheShippedFileIsTheDefaults) {
  WorkerSettings settings{.node_name = "x",
                          .data_address = "x",
                          .slots = 9,
                          .coordinator = "x",
                          .reconnect_max = std::chrono::seconds(9),
                          .state_dir = "x",
                          .storage_root = "x",
                          .trainer_program = "x",
                          .trainer_environment = {"x"},
                          .start_timeout = std::chrono::seconds(9),
                          .stop_grace = std::chrono::seconds(9),
                          .gpu_devices = "x",
                          .gpu_library = "x",
                          .gpu_trainer_program = "x",
                          .nccl_interface = "x",
                          .gpu_check_interval = std::chrono::seconds(9),
                          .telemetry_items_max = 9,
                          .metrics_listen = "x"};
  EXPECT_EQ(RenderProblems(ReadSettings(ShippedFile(), "worker.yaml", settings)), "");
  EXPECT_EQ(settings, WorkerSettings());
}

TEST(WorkerSettings, TheShippedFileHasEveryKey) {
  const std::string text = ShippedFile();
  for (const std::string& key : SettingKeys()) {
    const std::string leaf = key.substr(key.find('.') + 1);
    EXPECT_NE(text.find(leaf + ":"), std::string::npos) << key;
  }
}

TEST(WorkerSettings, ProblemsHaveAPlaceAndAWayOut) {
  WorkerSettings settings;
  const auto problems =
      ReadSettings("node:\n  slot: 3\ntrainer:\n  stop_grace: soon\n", "w.yaml", settings);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[0].hint, "did you mean 'node.slots'?");
  EXPECT_EQ(problems[1].line, 4);
  EXPECT_EQ(problems[1].key, "trainer.stop_grace");
}

struct Parsed {
  ParsedOptions result;
  std::string out;
  std::string err;
};

Parsed Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "gp-worker");
  std::ostringstream out;
  std::ostringstream err;
  auto result = ParseOptions(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {std::move(result), out.str(), err.str()};
}

TEST(WorkerOptions, FlagsWinOverTheFile) {
  const std::string path = testing::TempDir() + "worker_options_test.yaml";
  ASSERT_TRUE(WriteFileAtomically(path, "node: {slots: 3, name: a}\nstate: {dir: /s}\n").ok());
  const Parsed parsed = Parse({"--config", path.c_str(), "--slots", "5", "--storage-root", "/r"});
  ASSERT_TRUE(parsed.result.options.has_value()) << parsed.err;
  EXPECT_EQ(parsed.result.options->settings.slots, 5);
  EXPECT_EQ(parsed.result.options->settings.node_name, "a");
  EXPECT_EQ(parsed.result.options->settings.state_dir, "/s");
}

TEST(WorkerOptions, MistakesAreUsageErrors) {
  EXPECT_EQ(Parse({"--state-dir", "/s"}).result.exit_code, kExitUsage);
  EXPECT_NE(Parse({"--state-dir", "/s"}).err.find("--storage-root"), std::string::npos);
  EXPECT_EQ(Parse({"--slotz", "3"}).result.exit_code, kExitUsage);
  EXPECT_EQ(Parse({"--config", "/nonexistent.yaml"}).result.exit_code, kExitUsage);
  EXPECT_EQ(Parse({"--state-dir", "/s", "--storage-root", "/r", "--coordinator", "nowhere"})
                .result.exit_code,
            kExitUsage);
}

TEST(WorkerOptions, VersionAndHelpAreNoErrors) {
  EXPECT_EQ(Parse({"--version"}).result.exit_code, kExitOk);
  EXPECT_NE(Parse({"--version"}).out.find("gp-worker"), std::string::npos);
  EXPECT_EQ(Parse({"--help"}).result.exit_code, kExitOk);
}

}  // namespace
}  // namespace gp::agent
