// A run that starts from another run's checkpoint is killed: it resumes from its own checkpoint and
// no longer needs the other run.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr int kBaseSteps = 20;
constexpr int kTunedSteps = 400;

class FineTune : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(cluster_);
    WriteFile("tokenizer/vocab.json", Vocabulary());
    WriteFile("tokenizer/merges.txt", "#version: 0.2\nt h\n");
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
    const std::string base =
        Replaced(FaultRun(1, kBaseSteps), "tokenizer: bytes", "tokenizer: " + Path("tokenizer"));
    EXPECT_EQ(cluster_.WaitForEnd(cluster_.Submit(base)).state(), v1::RUN_STATE_SUCCEEDED);
  }

  std::string Path(const std::string& name) const { return JoinPath(cluster_.directory(), name); }

  void WriteFile(const std::string& name, const std::string& text) {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(Path(name))).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }

  // The 256 bytes in GPT-2's byte encoding, and one merge.
  static std::string Vocabulary() {
    std::string text = "{";
    int id = 0;
    const auto add = [&](int code) { text += fmt::format("\"\\u{:04x}\": {}, ", code, id++); };
    for (int code = 33; code < 127; ++code) add(code);
    for (int code = 161; code < 256; ++code) {
      if (code != 173) add(code);
    }
    for (int code = 256; id < 256; ++code) add(code);
    return text + "\"th\": 256}";
  }

  static std::string Replaced(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  // Submits with gpctl, which looks up the checkpoint.
  std::string SubmitTuned(const std::string& name) {
    std::string run = Replaced(FaultRun(1, kTunedSteps), "name: faults", "name: " + name);
    run = Replaced(run, ", tokenizer: bytes", "");
    run = Replaced(run, "model: {n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 16, dropout: 0.1}",
                   fmt::format("init_from: faults@{}\nmodel: {{dropout: 0.1}}\n"
                               "train: [last 1 block, ln_f]\nlearning_rates: {{ln_f: 1e-4}}",
                               kBaseSteps));
    WriteFile(name + ".yaml", run);
    const std::string command =
        fmt::format("HOME={0} GPCTL_SERVER={1} {2}/gpctl submit {0}/{3}.yaml -d > {0}/{3}.log 2>&1",
                    cluster_.directory(), cluster_.address(), std::getenv("GP_BIN"), name);
    EXPECT_EQ(std::system(command.c_str()), 0) << ReadFile(Path(name + ".log")).value_or("");
    return name;
  }

  std::vector<std::string> LinesWith(const std::string& run, const std::string& words) {
    std::vector<std::string> lines;
    for (const auto& line : cluster_.Lines(run)) {
      if (line.text().find(words) != std::string::npos) lines.push_back(line.text());
    }
    return lines;
  }

  Cluster cluster_;
};

TEST_F(FineTune, KilledGoesOnFromItsOwnCheckpointWithoutTheModelItBeganWith) {
  const std::string whole = SubmitTuned("whole");
  ASSERT_EQ(cluster_.WaitForEnd(whole).state(), v1::RUN_STATE_SUCCEEDED);
  const std::string expected = FinalWeights(cluster_, whole);

  const std::string killed = SubmitTuned("killed");
  cluster_.WaitForStep(killed, 1);
  const auto trainers = ChildrenOf(cluster_.worker("node-a").pid());
  ASSERT_EQ(trainers.size(), 1u);
  cluster_.WaitFor(killed, [](const v1::Run& run) { return run.latest_checkpoint_step() >= 30; });
  // Pause the trainer so that the run does not end before the kill.
  kill(trainers[0], SIGSTOP);
  // Move the base checkpoint away before the kill, so that the restarted rank cannot read it.
  const std::string base = cluster_.Checkpoints("faults").back().directory();
  std::filesystem::rename(base, base + ".gone");
  kill(trainers[0], SIGKILL);
  const v1::Run end = cluster_.WaitForEnd(killed);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.epoch(), 2u);
  EXPECT_TRUE(FinalWeights(cluster_, killed) == expected);
  EXPECT_EQ(LinesWith(killed, "initial weights read").size(), 1u) << "only the first start";
}

}  // namespace
}  // namespace gp::testing
