// Goal: the run file trains what nanoGPT would train, and every setting is taken, explained or
// refused with its place.
#include "client/gpctl/nanogpt/nanogpt_run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "client/gpctl/gpctl_runner.h"
#include "lib/base/temporary_directory.h"
#include "runspec/run_file.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The settings that nanoGPT's README trains its character model with.
constexpr char kCharacters[] =
    "out_dir = 'out-chars'\n"
    "eval_interval = 250\n"
    "eval_iters = 200\n"
    "always_save_checkpoint = False\n"
    "wandb_log = False\n"
    "dataset = 'chars'\n"
    "gradient_accumulation_steps = 1\n"
    "batch_size = 64\n"
    "block_size = 256\n"
    "n_layer = 6\nn_head = 6\nn_embd = 384\ndropout = 0.2\n"
    "learning_rate = 1e-3\nmax_iters = 5000\nlr_decay_iters = 5000\nmin_lr = 1e-4\n"
    "beta2 = 0.99\nwarmup_iters = 100\n";

class FromNanogpt : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return JoinPath(gpctl_.home(), name); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(Path(name)), 0700).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }

  Outcome Init(const std::string& text, std::vector<std::string> more = {}) {
    Write("config/train_chars.py", text);
    std::vector<std::string> arguments = {"init", "--from-nanogpt", "config/train_chars.py"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gpctl_.Run(arguments);
  }

  // The run that the printed run file describes.
  runspec::RunSpec Spec(const std::string& text, std::vector<std::string> more = {}) {
    const Outcome made = Init(text, std::move(more));
    EXPECT_EQ(made.code, 0) << made.err;
    const auto result = runspec::LoadRunFile(made.out, "made.yaml");
    EXPECT_TRUE(result.spec) << RenderProblems(result.problems) << made.out;
    return result.spec.value_or(runspec::RunSpec());
  }

  GpctlRunner gpctl_;
};

// A run file is text: what it cannot hold is refused in words, whether the folder exists or not.
TEST_F(FromNanogpt, PathsThatAreNoTextAreRefused) {
  const std::string odd = "d\xff\x61ta";
  Write("data/" + odd + "/input.txt", "some text\n");
  const Outcome bytes = Init("batch_size = 4\ndataset = '" + odd + "'\n");
  EXPECT_EQ(bytes.code, 2);
  EXPECT_THAT(bytes.err, HasSubstr("train_chars.py:2: dataset is 'd?ata', expected text in UTF-8"));
  const Outcome given = Init("batch_size = 4\n", {"--override", "dataset=" + odd});
  EXPECT_THAT(given.err,
              HasSubstr("--override dataset: dataset is 'd?ata', expected text in UTF-8"));
  for (const char* name : {"a\x1b[2J", "a\tb", "a\u2028b", "a\x7f"}) {
    const Outcome refused = Init("batch_size = 4\ndataset = '" + std::string(name) + "'\n");
    EXPECT_EQ(refused.code, 2) << name;
    EXPECT_THAT(refused.err, HasSubstr("expected a path in UTF-8 without control characters"));
    EXPECT_THAT(refused.err, Not(HasSubstr("\x1b")));
  }
  EXPECT_EQ(Init("batch_size = 4\nwandb_project = 'd\xff'\n").code, 2);
}

TEST_F(FromNanogpt, FoldersAndConfigurationsThatAreNoTextAreRefused) {
  Write("d\xffir/config/a.py", "batch_size = 4\n");
  const Outcome folder = gpctl_.Run({"init", "--from-nanogpt", "d\xffir/config/a.py"});
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err,
              HasSubstr("--from-nanogpt: 'd?ir/config/a.py': expected a path in UTF-8"));
  Write("config/a\nname: b.py", "batch_size = 4\n");
  const Outcome lines = gpctl_.Run({"init", "--from-nanogpt", "config/a\nname: b.py"});
  EXPECT_EQ(lines.code, 2);
  EXPECT_EQ(lines.out, "");
}

TEST_F(FromNanogpt, TheCharacterModelIsTakenWhole) {
  Write("data/chars/input.txt", "some text\n");
  const runspec::RunSpec spec = Spec(kCharacters);
  EXPECT_EQ(spec.name, "train_chars");
  EXPECT_EQ(spec.model.layers, 6);
  EXPECT_EQ(spec.model.heads, 6);
  EXPECT_EQ(spec.model.channels, 384);
  EXPECT_EQ(spec.model.context, 256);
  EXPECT_FALSE(spec.model.bias);
  EXPECT_DOUBLE_EQ(spec.model.dropout, 0.2);
  EXPECT_EQ(spec.data.text, std::vector<std::string>{Path("data/chars/input.txt")});
  EXPECT_EQ(spec.data.tokenizer, "chars");
  EXPECT_EQ(spec.batch.micro_batch, 64);
  EXPECT_EQ(spec.batch.sequence, 256);
  EXPECT_EQ(spec.batch.total_tokens, 64 * 256);
  EXPECT_DOUBLE_EQ(spec.optimizer.lr, 1e-3);
  EXPECT_DOUBLE_EQ(spec.optimizer.beta2, 0.99);
  EXPECT_DOUBLE_EQ(spec.optimizer.weight_decay, 0.1) << "nanoGPT's default";
  EXPECT_EQ(spec.schedule.warmup_steps, 100);
  EXPECT_EQ(spec.schedule.decay_steps, 5000);
  EXPECT_NEAR(spec.schedule.min_lr_ratio, 0.1, 1e-9);
  EXPECT_EQ(spec.budget.steps, 5000);
  EXPECT_EQ(spec.eval.every_steps, 250);
  EXPECT_EQ(spec.eval.batches, 200);
}

TEST_F(FromNanogpt, TheTokensOfAStepAreThoseOfAllProcesses) {
  Write("data/openwebtext/train.bin", std::string(8192, '\0'));
  Write("data/openwebtext/val.bin", std::string(8192, '\0'));
  const runspec::RunSpec spec =
      Spec("batch_size = 12\nblock_size = 1024\ngradient_accumulation_steps = 5 * 8\n");
  EXPECT_EQ(spec.batch.micro_batch, 12);
  EXPECT_EQ(spec.batch.total_tokens, 491'520);
  EXPECT_EQ(spec.model.layers, 12);
  EXPECT_EQ(spec.budget.steps, 600'000);
  EXPECT_EQ(spec.data.tokenizer, "gpt2");
  EXPECT_EQ(spec.data.train, std::vector<std::string>{Path("data/openwebtext/train.bin")});
  EXPECT_EQ(spec.resources.device, "auto");
}

TEST_F(FromNanogpt, OverridesAreNanogptsOwn) {
  Write("data/chars/input.txt", "some text\n");
  const runspec::RunSpec spec =
      Spec(kCharacters, {"--override", "device=cpu", "--override=--compile=False", "--override",
                         "batch_size=12", "--override", "block_size=64", "--override",
                         "max_iters=2000", "--override", "dropout=0.0"});
  EXPECT_EQ(spec.resources.device, "cpu");
  EXPECT_EQ(spec.precision, runspec::Precision::kFp32);
  EXPECT_EQ(spec.batch.total_tokens, 12 * 64);
  EXPECT_EQ(spec.budget.steps, 2000);
  EXPECT_DOUBLE_EQ(spec.model.dropout, 0);
  const Outcome unknown = Init(kCharacters, {"--override", "bach_size=3", "--override", "x"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--override bach_size: nanoGPT has no such key; did you mean "
                                     "'batch_size'?"));
  EXPECT_THAT(unknown.err, HasSubstr("--override x: expected KEY=VALUE"));
}

TEST_F(FromNanogpt, AConstantRateHasNoWarmUp) {
  Write("data/chars/input.txt", "some text\n");
  const runspec::RunSpec spec = Spec("dataset = 'chars'\nlearning_rate = 3e-5\ndecay_lr = False\n");
  EXPECT_EQ(spec.schedule.kind, runspec::ScheduleKind::kConstant);
  EXPECT_EQ(spec.schedule.warmup_steps, 0);
}

TEST_F(FromNanogpt, WhatHasNoCounterpartIsNamedWithItsLineAndAReason) {
  Write("data/chars/input.txt", "some text\n");
  const Outcome made = Init(std::string(kCharacters) +
                            "backend = 'nccl'\n"
                            "wandb_run_name = 'ft-' + str(time.time())\n"
                            "learning_rat = 3\n"
                            "log_interval = 10\n");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("config/train_chars.py: translated 21 of nanoGPT's keys."));
  EXPECT_THAT(made.err,
              HasSubstr("note: config/train_chars.py:1: out_dir has no counterpart: a run has"));
  EXPECT_THAT(made.err, HasSubstr("note: config/train_chars.py:20: backend has no counterpart:"));
  EXPECT_THAT(made.err, HasSubstr("warning: config/train_chars.py:21: left out: 'wandb_run_name = "
                                  "'ft-' + str(time.time())' calls str()"));
  EXPECT_THAT(made.err, HasSubstr("train_chars.py:22: learning_rat has no counterpart: nanoGPT has "
                                  "no such key; did you mean 'learning_rate'?"));
  EXPECT_THAT(made.err, Not(HasSubstr("wandb_log"))) << "it asks for nothing";
}

// The value of an earlier line does not hold any more, so the warning says which one does.
TEST_F(FromNanogpt, AKeyWhoseLastLineIsLeftOutHasItsDefaultAndTheWarningSaysSo) {
  Write("data/chars/input.txt", "some text\n");
  const Outcome made =
      Init("dataset = 'chars'\nbatch_size = 4\nbatch_size = int(os.environ.get('B', 8))\n");
  EXPECT_THAT(made.err, HasSubstr("train_chars.py:3: left out: 'batch_size = "));
  EXPECT_THAT(made.err, HasSubstr("; batch_size is nanoGPT's default, 12"));
}

TEST_F(FromNanogpt, WrongValuesAreRefusedAllAtOnceWithTheirLines) {
  const Outcome refused = Init(
      "n_layer = 'six'\n"
      "bias = 1\n"
      "max_iters = 0.5\n"
      "min_lr = 0.01\n"
      "dtype = 'int8'\n"
      "device = 'tpu'\n"
      "init_from = 'gpt3'\n");
  EXPECT_EQ(refused.code, 2);
  for (const char* part :
       {"config/train_chars.py:2: bias is 1, expected True or False",
        "config/train_chars.py:3: max_iters is 0.5, expected a whole number",
        "config/train_chars.py:4: min_lr is 0.01, but learning_rate is 0.0006 (nanoGPT's default)",
        "config/train_chars.py:5: dtype is 'int8', expected",
        "config/train_chars.py:6: device is 'tpu', expected",
        "config/train_chars.py:7: init_from is 'gpt3', expected"}) {
    EXPECT_THAT(refused.err, HasSubstr(part));
  }
  EXPECT_THAT(Init("n_layer = 'six'\n").err,
              HasSubstr("train_chars.py:1: n_layer is 'six', expected a whole number"));
  EXPECT_EQ(Init("n_head = 5\n").code, 2) << "n_embd is not a multiple: gp cannot train it";
  EXPECT_EQ(Init("batch_size = 2**62\nblock_size = 8\n").code, 2);
}

TEST_F(FromNanogpt, APretrainedModelDecidesItsShape) {
  Write("data/chars/input.txt", "some text\n");
  Write("gpt2/config.json", "{}");
  const Outcome made =
      Init("init_from = 'gpt2'\nn_layer = 3\ndataset = 'chars'\nblock_size = 512\n");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("init_from: \"" + Path("gpt2") + "\""));
  EXPECT_THAT(made.out, HasSubstr("n_ctx: 512"));
  EXPECT_THAT(made.out, Not(HasSubstr("n_layer")));
  EXPECT_THAT(made.err, HasSubstr("n_layer is 3; it has no effect, because gpt2 decides it"));
  const Outcome missing = Init("init_from = 'gpt2-xl'\ndataset = 'chars'\n");
  EXPECT_EQ(missing.code, 0) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("the weights of gpt2-xl are not on this machine"));
}

TEST_F(FromNanogpt, MissingDataIsSaidAndTheFileIsWritten) {
  const Outcome made = Init("dataset = 'none'\n", {"run.yaml"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("Wrote run.yaml.\n"));
  EXPECT_THAT(made.err, HasSubstr("has neither train.bin nor input.txt"));
  EXPECT_THAT(made.err, Not(HasSubstr("submit"))) << "it could not train yet";
  EXPECT_EQ(Init("dataset = 'none'\n", {"run.yaml"}).code, 5) << "it exists";
  EXPECT_EQ(Init("dataset = 'none'\n", {"--preset", "tiny"}).code, 2);
}

TEST_F(FromNanogpt, AFileThatIsNoConfigurationIsRefused) {
  EXPECT_EQ(gpctl_.Run({"init", "--from-nanogpt", "none.py"}).code, 2);
  Write("binary.py", std::string("\x80\x02}q\0", 5));
  EXPECT_EQ(gpctl_.Run({"init", "--from-nanogpt", "binary.py"}).code, 2);
  Write("run.yaml", "apiVersion: gp/v1\nname: tiny\n");
  const Outcome other = gpctl_.Run({"init", "--from-nanogpt", "run.yaml"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("run.yaml: sets none of nanoGPT's keys"));
  EXPECT_EQ(other.out, "");
  EXPECT_EQ(gpctl_.Run({"init", "--override", "a=1"}).code, 2);
}

}  // namespace
}  // namespace gp::testing
