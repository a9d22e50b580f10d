// Goal: fork submits the run file of its parent's leg with what makes it a fork, under a name of
// its own, and refuses what is no checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "formats/checkpoint_directory.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ForkCommand : public ::testing::Test {
 protected:
  ForkCommand() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "some text\n";
    std::ofstream(gpctl_.home() + "/in.txt") << text;
    v1::Run run = MakeRun("base", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
    run.set_resolved(RunFile(1e-3));
    run.set_leg(2);
    v1::Leg& leg = *run.add_legs();
    leg.set_number(1);
    leg.set_resolved(RunFile(5e-3));
    *run.add_legs() = leg;
    run.mutable_legs(1)->set_number(2);
    run.mutable_legs(1)->set_resolved(run.resolved());
    service_.AddRun(run);
    service_.AddCheckpoint(Write(150, 1));
  }

  std::string RunFile(double lr) const {
    return fmt::format(
        "apiVersion: gp/v1\nname: base\nmodel: {{n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}}\n"
        "data: {{text: [{}/in.txt], tokenizer: bytes}}\nbatch: {{micro_batch: 2, sequence: 16}}\n"
        "optimizer: {{lr: {}}}\nbudget: {{steps: 300}}\n",
        gpctl_.home(), lr);
  }

  std::string DirectoryAt(int64_t step) const {
    return fmt::format("{}/runs/aaaaaaaa01/checkpoints/step-{}", gpctl_.home(), step);
  }

  // A checkpoint on the disk that says what a fork reads of it.
  v1::Checkpoint Write(int64_t step, int leg) const {
    const std::string directory = DirectoryAt(step);
    formats::CheckpointManifest manifest;
    manifest.run_id = "aaaaaaaa01";
    manifest.run_name = "base";
    manifest.step = step;
    manifest.tokens = step * 32;
    manifest.shape = {.layers = 1, .heads = 1, .channels = 16, .context = 16};
    manifest.shape.vocabulary = manifest.shape.vocabulary_padded = 256;
    manifest.record.optimizer = "adamw";
    manifest.record.seed = 1337;
    manifest.record.order = "random";
    manifest.record.sequence = 16;
    for (const char* name :
         {formats::kModelName, formats::kOptimizerName, formats::kTokenizerName}) {
      manifest.files.push_back({name, 1, ""});
    }
    EXPECT_TRUE(MakeDirectories(directory).ok());
    EXPECT_TRUE(WriteFileAtomically(JoinPath(directory, formats::kTokenizerName),
                                    ByteTokenizer().Serialized())
                    .ok());
    EXPECT_TRUE(WriteFileAtomically(JoinPath(directory, formats::kManifestName),
                                    formats::FormatManifest(manifest))
                    .ok());
    v1::Checkpoint checkpoint;
    checkpoint.set_run_id("aaaaaaaa01");
    checkpoint.set_step(step);
    checkpoint.set_leg(leg);
    checkpoint.set_latest(true);
    checkpoint.set_directory(directory);
    return checkpoint;
  }

  Outcome Fork(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fork");
    return gpctl_.Run(arguments);
  }
  std::vector<std::string> Sent() const {
    const v1::SubmitRequest request = service_.last_submit();
    return {request.overrides().begin(), request.overrides().end()};
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(ForkCommand, SubmitsTheRunFileOfTheLegThatWroteTheCheckpoint) {
  const Outcome forked = Fork({"base@150", "--set", "optimizer.lr=2e-3"});
  ASSERT_EQ(forked.code, 0) << forked.err;
  EXPECT_EQ(service_.last_submit().source(), RunFile(5e-3));
  EXPECT_EQ(service_.last_submit().name(), "") << "the service may number it";
  EXPECT_THAT(Sent(), AllOf(Contains("init_from=" + DirectoryAt(150)), Contains("name=base-fork"),
                            Contains("init_optimizer=keep"), Contains("init_data=keep"),
                            Contains("optimizer.lr=2e-3")));
  EXPECT_THAT(forked.err, HasSubstr("from      base@150 (aaaaaaaa01), after 4,800 tokens"));
  EXPECT_THAT(forked.err, HasSubstr("changes   optimizer.lr 0.005 -> 0.002"));
  EXPECT_THAT(forked.err, HasSubstr("Watch it: "));
  EXPECT_THAT(forked.out, StartsWith("Submitted submitted (abcdefgh01)"));
}

TEST_F(ForkCommand, TakesANameThatNoRunHas) {
  service_.AddRun(MakeRun("base-fork", "bbbbbbbb02", v1::RUN_STATE_SUCCEEDED));
  ASSERT_EQ(Fork({"aaaaaaaa01"}).code, 0);
  EXPECT_THAT(Sent(), Contains("name=base-fork-2"));
  ASSERT_EQ(Fork({"aaaaaaaa01", "--name", "mine"}).code, 0);
  EXPECT_EQ(service_.last_submit().name(), "mine");
  EXPECT_THAT(Sent(), Not(Contains("name=base-fork-2")));
  v1::Run made = MakeRun("base-fork-2", "cccccccc03", v1::RUN_STATE_QUEUED);
  made.set_request_id("once");
  service_.AddRun(made);
  ASSERT_EQ(Fork({"aaaaaaaa01", "--request-id", "once"}).code, 0);
  EXPECT_THAT(Sent(), Contains("name=base-fork-2")) << "the same request again";
  EXPECT_EQ(service_.last_submit().request_id(), "once");
}

TEST_F(ForkCommand, ADryRunSaysWhatWouldHappen) {
  const Outcome tried = Fork({"base", "--dry-run"});
  ASSERT_EQ(tried.code, 0) << tried.err;
  EXPECT_TRUE(service_.last_submit().dry_run());
  EXPECT_THAT(tried.out, HasSubstr("trains    150 steps, from step 150 to step 300"));
  EXPECT_THAT(tried.err, HasSubstr("Nothing was submitted (--dry-run)."));
  const Outcome document = Fork({"base", "-o", "json"});
  EXPECT_EQ(nlohmann::json::parse(document.out)["kind"], "Run");
  EXPECT_EQ(document.err, "");
}

TEST_F(ForkCommand, TheCheckpointNeedNotBeVisibleHere) {
  std::filesystem::remove_all(DirectoryAt(150));
  const Outcome forked = Fork({"base", "--set", "optimizer.lr=2e-3"});
  ASSERT_EQ(forked.code, 0) << forked.err;
  EXPECT_THAT(Sent(), AllOf(Contains("init_from=" + DirectoryAt(150)),
                            Contains("data.tokenizer=bytes"), Contains("model.n_layer=1")));
  EXPECT_THAT(Fork({"base", "--set", "data.tokenizer=chars"}).err,
              HasSubstr("cannot be read here"));
}

TEST_F(ForkCommand, WhatIsNoSealedCheckpointIsRefusedBeforeAnythingIsStored) {
  EXPECT_THAT(Fork({"base@151"}).err,
              HasSubstr("no sealed checkpoint of step 151; it has steps 150"));
  EXPECT_EQ(Fork({"base@151"}).code, 3);
  EXPECT_EQ(Fork({"nobody"}).code, 3);
  EXPECT_EQ(Fork({"base@first"}).code, 2);
  v1::Checkpoint held = Write(200, 2);
  held.set_quarantine_reason("a digest differs");
  held.mutable_quarantined_at()->set_seconds(1);
  service_.AddCheckpoint(held);
  EXPECT_THAT(Fork({"base@200"}).err,
              AllOf(HasSubstr("in quarantine: a digest differs"), HasSubstr("ckpt verify")));
  EXPECT_THAT(Fork({held.directory()}).err, HasSubstr("in quarantine: a digest differs"));
  EXPECT_EQ(service_.last_submit().source(), "");
}

TEST_F(ForkCommand, WhatCannotChangeIsRefusedBeforeAnythingIsStored) {
  EXPECT_THAT(Fork({"base", "--set", "model.n_layer=2"}).err, HasSubstr("--set model.n_layer"));
  EXPECT_THAT(Fork({"base", "--set", "data.tokenizer=chars"}).err, HasSubstr("data.tokenizer"));
  EXPECT_THAT(Fork({"base", "--steps", "150", "--set", "seed=1337", "--name", "mine"}).err,
              HasSubstr("fork base --set seed=1337 --name mine --steps +300"));
  EXPECT_EQ(Fork({"base", "--steps", "many"}).code, 2);
  EXPECT_EQ(Fork({"base", "--name", "../evil"}).code, 2);
  EXPECT_THAT(Fork({"base", "--name", "../evil"}).err,
              StartsWith("error: --name: '../evil' cannot be a run's name"));
  EXPECT_EQ(Fork({"base", "--name", "a\nb"}).code, 2);
  EXPECT_EQ(Fork({"base", "--wait", "--detach"}).code, 2);
  EXPECT_EQ(service_.last_submit().source(), "");
}

}  // namespace
}  // namespace gp::testing
