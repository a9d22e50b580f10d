#include "client/gpctl/commands/disk/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "lib/base/temporary_directory.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KeepingVerbs : public ::testing::Test {
 protected:
  KeepingVerbs() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    service_.AddRun(MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
    v1::PruneCheckpointsResponse prune;
    for (const int64_t step : {10, 20}) {
      v1::Checkpoint checkpoint;
      checkpoint.set_run_id("aaaaaaaa01");
      checkpoint.set_step(step);
      checkpoint.set_directory(JoinPath(directory_.path(), "checkpoint"));
      service_.AddCheckpoint(checkpoint);
      *prune.add_removed() = checkpoint;
    }
    prune.set_freed_bytes(2048);
    service_.storage().SetPrune(prune);
  }

  TemporaryDirectory directory_;
  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(KeepingVerbs, ACheckpointIsPinnedAndUnpinned) {
  const Outcome pinned = gpctl_.Run({"ckpt", "pin", "tiny@10"});
  EXPECT_EQ(pinned.code, 0) << pinned.err;
  EXPECT_EQ(pinned.out, "step 10 of tiny is pinned: retention and prunes do not remove it\n");
  EXPECT_TRUE(service_.storage().last_pin().pinned());
  EXPECT_EQ(service_.storage().last_pin().run(), "aaaaaaaa01");
  EXPECT_EQ(gpctl_.Run({"ckpt", "unpin", "tiny@10"}).out, "step 10 of tiny is no longer pinned\n");
  EXPECT_FALSE(service_.storage().last_pin().pinned());
  EXPECT_EQ(gpctl_.Run({"ckpt", "pin", "tiny@15"}).code, 3);
  EXPECT_EQ(gpctl_.Run({"ckpt", "pin", "./tiny"}).code, 2);
}

TEST_F(KeepingVerbs, EveryCommandSaysThatARunHasNoBestCheckpoint) {
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{{"ckpt", "show"},
                                                                              {"ckpt", "verify"},
                                                                              {"ckpt", "pin"},
                                                                              {"ckpt", "unpin"},
                                                                              {"ckpt", "get"},
                                                                              {"fork"},
                                                                              {"sample"},
                                                                              {"eval"},
                                                                              {"export"},
                                                                              {"serve"},
                                                                              {"chat"}}) {
    words.push_back("tiny@best");
    if (words[0] == "export" || words[1] == "get") words.push_back("out");
    if (words[0] == "eval") words.insert(words.end(), {"--task", "val"});
    const Outcome outcome = gpctl_.Run(words);
    EXPECT_EQ(outcome.code, 3) << words[0] << " " << words[1];
    EXPECT_EQ(outcome.err,
              "error: run tiny has no best checkpoint: none was evaluated; it has steps 10, 20\n");
  }
}

TEST_F(KeepingVerbs, APruneAsksFirst) {
  const Outcome refused = gpctl_.Run({"ckpt", "prune", "tiny"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("nothing was removed"));
  EXPECT_EQ(service_.storage().last_prune().run(), "");
  gpctl_.typing = true;
  gpctl_.input = "y\n";
  const Outcome pruned = gpctl_.Run({"ckpt", "prune", "tiny", "--keep-last", "2"});
  EXPECT_EQ(pruned.code, 0) << pruned.err;
  EXPECT_THAT(pruned.err,
              HasSubstr("Remove 2 checkpoints (steps 10, 20) of tiny and free 2.0 KiB?"));
  EXPECT_EQ(pruned.out, "removed 2 checkpoints (steps 10, 20) of tiny; 2.0 KiB freed\n");
  EXPECT_EQ(service_.storage().last_prune().keep_last(), 2);
}

TEST_F(KeepingVerbs, ADryRunRemovesNothing) {
  EXPECT_THAT(gpctl_.Run({"ckpt", "prune", "tiny", "--dry-run"}).out, HasSubstr("to be removed"));
  EXPECT_EQ(service_.storage().last_prune().run(), "");
  service_.storage().SetPrune({});
  EXPECT_THAT(gpctl_.Run({"ckpt", "prune", "tiny", "--yes"}).out, HasSubstr("Nothing to remove"));
  EXPECT_EQ(service_.storage().last_prune().run(), "");
}

TEST_F(KeepingVerbs, ASealedCheckpointWithoutItsManifestIsDamaged) {
  const std::string directory = JoinPath(directory_.path(), "sealed");
  ASSERT_TRUE(MakeDirectories(directory).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(directory, "model.safetensors"), "x").ok());
  v1::Checkpoint checkpoint;
  checkpoint.set_run_id("aaaaaaaa01");
  checkpoint.set_step(30);
  checkpoint.set_directory(directory);
  checkpoint.set_manifest_digest(std::string(64, 'a'));
  service_.AddCheckpoint(checkpoint);
  const std::string to = JoinPath(directory_.path(), "copy");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"ckpt", "verify", "tiny@30"}, {"ckpt", "get", "tiny@30", to}}) {
    const Outcome outcome = gpctl_.Run(words);
    EXPECT_EQ(outcome.code, 9) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("manifest.json is missing; the checkpoint is damaged"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("import")));
  }
  EXPECT_FALSE(FileExists(to));
}

TEST_F(KeepingVerbs, WhatIsNoCheckpointIsNotCopied) {
  const std::string to = JoinPath(directory_.path(), "copy");
  EXPECT_EQ(gpctl_.Run({"ckpt", "get", "tiny@10", to}).code, 3) << "it has no manifest";
  EXPECT_FALSE(FileExists(to));
  ASSERT_TRUE(MakeDirectories(JoinPath(directory_.path(), "checkpoint")).ok());
  ASSERT_TRUE(
      WriteFileAtomically(JoinPath(directory_.path(), "checkpoint/manifest.json"), "{}").ok());
  EXPECT_NE(gpctl_.Run({"ckpt", "get", "tiny@10", to}).code, 0);
  EXPECT_FALSE(FileExists(to));
}

}  // namespace
}  // namespace gp::testing
