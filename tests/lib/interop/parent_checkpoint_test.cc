#include "interop/parent_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

formats::CheckpointManifest OfRun() {
  formats::CheckpointManifest manifest{.run_id = "base", .step = 150, .tokens = 9600};
  manifest.record.optimizer = "muon@2";
  manifest.record.seed = 18446744073709551615u;
  manifest.record.order = "shuffled";
  manifest.record.sequence = 16;
  manifest.record.trained = "blocks, ln_f";
  manifest.files = {{.name = formats::kModelName}, {.name = formats::kOptimizerName}};
  return manifest;
}

TEST(ParentCheckpoint, OfARunGivesWhatItsManifestRecords) {
  const TemporaryDirectory directory;
  const auto state = ParentStateOf(directory.path(), OfRun());
  EXPECT_EQ(state.refusal, "");
  EXPECT_EQ(state.step, 150);
  EXPECT_EQ(state.tokens, 9600);
  EXPECT_EQ(state.optimizer, "muon");
  EXPECT_EQ(state.seed, 18446744073709551615u);
  EXPECT_EQ(state.order, "shuffled");
  EXPECT_EQ(state.sequence, 16);
  EXPECT_EQ(state.trained, (std::vector<std::string>{"blocks", "ln_f"}));
}

TEST(ParentCheckpoint, OfAnOlderVersionDoesNotSayWhatWasTrained) {
  formats::CheckpointManifest manifest = OfRun();
  manifest.record = {};
  EXPECT_FALSE(ParentStateOf("/gone", manifest).trained.has_value());
}

TEST(ParentCheckpoint, WithoutAnOptimizerItIsRefused) {
  formats::CheckpointManifest manifest = OfRun();
  manifest.files.pop_back();
  EXPECT_THAT(ParentStateOf("/gone", manifest).refusal,
              HasSubstr("its manifest lists no optimizer.safetensors"));
}

TEST(ParentCheckpoint, InQuarantineItIsRefused) {
  const TemporaryDirectory directory;
  directory.Write("checkpoint.quarantined", "two readers found it damaged");
  EXPECT_THAT(ParentStateOf(directory.File("checkpoint"), OfRun()).refusal,
              HasSubstr("is in quarantine: " + directory.File("checkpoint.quarantined")));
}

TEST(ParentCheckpoint, AnImportedOneAndOtherProgramsModelsHoldWeightsOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("imported");
  ASSERT_TRUE(WriteCheckpointModel(SmallModel(), ByteTokenizer(), "mine", path, {}).ok());
  const auto imported = FindModelAt(path);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->state.refusal, "holds weights only: it was imported from small");
  const auto opened = OpenCheckpointModel(path);
  const std::string exported = directory.File("hugging");
  ASSERT_TRUE(ExportModel(*opened, ExportFormat::kHuggingFace, {}, exported).ok());
  EXPECT_EQ(FindModelAt(exported)->state.refusal,
            "holds weights only: it is a Hugging Face directory");
}

TEST(ParentCheckpoint, OneThatWasNeverCompletedIsNamed) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("checkpoints/step-00000006-e1-abc");
  ASSERT_TRUE(MakeDirectories(path).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(path, formats::kModelName), "half").ok());
  EXPECT_THAT(Message(FindModelAt(path).status()),
              HasSubstr("has no manifest.json: this checkpoint was never completed"));
}

}  // namespace
}  // namespace gp::interop
