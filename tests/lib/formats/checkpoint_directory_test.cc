#include "formats/checkpoint_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/random_id.h"
#include "lib/formats/sample_checkpoint.h"
#include "storage/local_storage.h"

namespace gp::formats {
namespace {

class CheckpointDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override { digest_ = WriteSampleCheckpoint(directory_, 20); }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  StatusCode Verdict() const {
    return VerifyDigests(storage_, directory_, digest_).status().code();
  }
  std::string File(const std::string& name) const { return JoinPath(directory_, name); }

  const std::string parent_ = ::testing::TempDir() + "gp-checkpoints-" + RandomId(8);
  const std::string directory_ = JoinPath(parent_, "step-00000020-e1-abc");
  const LocalStorage storage_;
  std::string digest_;
};

TEST_F(CheckpointDirectoryTest, IsWholeWhenEveryFileIsTheOneOfItsManifest) {
  const auto manifest = VerifyDigests(storage_, directory_, digest_);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->step, 20);
}

TEST_F(CheckpointDirectoryTest, IsDamagedWhenAByteAFileOrTheManifestIsAnother) {
  DamageFile(File(kOptimizerName));
  EXPECT_EQ(Verdict(), StatusCode::kDataLoss);
  std::filesystem::remove(File(kOptimizerName));
  EXPECT_EQ(Verdict(), StatusCode::kDataLoss) << "a file is missing";
  digest_ = WriteSampleCheckpoint(directory_, 20);
  EXPECT_EQ(Verdict(), StatusCode::kOk);
  DamageFile(File(kManifestName));
  EXPECT_EQ(Verdict(), StatusCode::kDataLoss);
}

// A symlink to itself makes the file system report an error other than "does not exist".
TEST_F(CheckpointDirectoryTest, WhatCannotBeReadIsNotCalledDamaged) {
  std::filesystem::remove(File(kModelName));
  ASSERT_EQ(symlink(kModelName, File(kModelName).c_str()), 0);
  EXPECT_NE(Verdict(), StatusCode::kDataLoss);
  EXPECT_NE(Verdict(), StatusCode::kNotFound);
  EXPECT_NE(Verdict(), StatusCode::kOk);
}

TEST_F(CheckpointDirectoryTest, ReadingEndsWhenAskedTo) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(VerifyDigests(storage_, directory_, digest_, stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

TEST_F(CheckpointDirectoryTest, IsFoundInARunsDirectoryAndSaysWhatWasExpected) {
  for (const std::string& place : {directory_, parent_}) {
    EXPECT_EQ(FindCheckpointIn(storage_, place).value_or(""), directory_) << place;
  }
  const std::string run = JoinPath(parent_, "run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  EXPECT_EQ(FindCheckpointIn(storage_, run).status().code(), StatusCode::kNotFound);
  const std::string inside = JoinPath(run, "checkpoints/step-00000030-e1-abc");
  WriteSampleCheckpoint(inside, 30);
  EXPECT_EQ(FindCheckpointIn(storage_, run).value_or(""), inside);
  EXPECT_EQ(FindCheckpointIn(storage_, JoinPath(parent_, "nothing")).status().code(),
            StatusCode::kNotFound);
}

TEST_F(CheckpointDirectoryTest, ACheckpointOfACatalogueWithoutItsManifestIsDamaged) {
  ASSERT_EQ(unlink(JoinPath(directory_, kManifestName).c_str()), 0);
  for (const Status& status : {ReadManifest(storage_, directory_, digest_).status(),
                               VerifyDigests(storage_, directory_, digest_).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(Message(status),
              JoinPath(directory_, kManifestName) + " is missing; the checkpoint is damaged");
  }
  EXPECT_EQ(ReadManifest(storage_, directory_).status().code(), StatusCode::kNotFound)
      << "no catalogue knows it";
  EXPECT_EQ(ReadManifest(storage_, directory_ + "-more", digest_).status().code(),
            StatusCode::kNotFound)
      << "there is no directory";
}

TEST_F(CheckpointDirectoryTest, AModelOfAnotherProgramIsTold) {
  const std::string model = JoinPath(parent_, "my model");
  ASSERT_TRUE(MakeDirectories(model).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(model, "config.json"), "{}").ok());
  const std::string command = "gpctl import '" + model + "' --name imported";
  EXPECT_THAT(Message(FindCheckpointIn(storage_, model).status()), ::testing::EndsWith(command));
  EXPECT_THAT(Message(ReadManifest(storage_, model).status()), ::testing::EndsWith(command));
  const std::string file = JoinPath(model, "config.json");
  EXPECT_EQ(FindCheckpointIn(storage_, file).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(
      Message(FindCheckpointIn(storage_, file).status()),
      ::testing::AllOf(::testing::HasSubstr("is a file; expected the directory of a checkpoint"),
                       ::testing::EndsWith(command)));
}

// `gpctl import` takes directories; the only single files that it takes are llm.c's.
TEST_F(CheckpointDirectoryTest, AFileLeadsToTheModelThatItBelongsTo) {
  const auto error_of = [this](const std::string& name, const std::string& bytes,
                               const std::string& beside) {
    const std::string folder = JoinPath(parent_, name + " folder");
    EXPECT_TRUE(MakeDirectories(folder).ok());
    EXPECT_TRUE(WriteFileAtomically(JoinPath(folder, name), bytes).ok());
    if (!beside.empty()) {
      EXPECT_TRUE(WriteFileAtomically(JoinPath(folder, beside), "{}").ok());
    }
    return Message(FindCheckpointIn(storage_, JoinPath(folder, name)).status());
  };
  const auto import_of = [this](const std::string& path) {
    return "gpctl import '" + JoinPath(parent_, path) + "' --name imported";
  };
  EXPECT_THAT(error_of("model.safetensors", "", "config.json"),
              ::testing::EndsWith(import_of("model.safetensors folder")));
  EXPECT_THAT(error_of("tokenizer.json", "{}", "model_args.json"),
              ::testing::EndsWith(import_of("tokenizer.json folder")));
  EXPECT_THAT(error_of("model-00001-of-00002.safetensors", "", "config.json"),
              ::testing::EndsWith(import_of("model-00001-of-00002.safetensors folder")));
  EXPECT_THAT(error_of("gpt2_124M.bin", "\xc6\xd7\x34\x01", ""),
              ::testing::EndsWith(import_of("gpt2_124M.bin folder/gpt2_124M.bin")));
  EXPECT_THAT(error_of("optimizer.safetensors", "", "manifest.json"),
              ::testing::EndsWith("name its directory: '" +
                                  JoinPath(parent_, "optimizer.safetensors folder'")));
  EXPECT_THAT(error_of("ckpt.pt", "PK\3\4", ""),
              ::testing::HasSubstr("in a format that gp does not read (ckpt.pt)"));
  for (const char* name : {"adapter_config.json", "tf_model.h5", "flax_model.msgpack", "model.gguf",
                           "checkpoint-500"}) {
    EXPECT_THAT(error_of(name, "x", ""),
                ::testing::HasSubstr(std::string("does not read (") + name + ")"));
  }
  EXPECT_THAT(error_of("notes.txt", "text", ""), ::testing::Not(::testing::HasSubstr("import")));
}

TEST_F(CheckpointDirectoryTest, OneInQuarantineKeepsItsFilesAndIsNotFound) {
  ASSERT_TRUE(Quarantine(storage_, directory_, "a digest differs").ok());
  ASSERT_TRUE(Quarantine(storage_, directory_, "a later reason").ok());
  EXPECT_EQ(*ReadFile(directory_ + ".quarantined"), "a digest differs\n");
  EXPECT_TRUE(FindCheckpoints(storage_, parent_)->empty());
  EXPECT_EQ(*FindNewestCheckpoint(storage_, parent_), std::nullopt);
  EXPECT_EQ(Verdict(), StatusCode::kOk);
  ASSERT_TRUE(storage_.Delete(QuarantineMark(directory_)).ok());
  EXPECT_EQ(FindCheckpoints(storage_, parent_)->size(), 1u);
}

TEST_F(CheckpointDirectoryTest, OneThatAnOlderVersionRenamedIsNotFound) {
  std::filesystem::rename(directory_, RenamedDamaged(directory_));
  EXPECT_TRUE(FindCheckpoints(storage_, parent_)->empty());
}

// A storage whose deletion stops early: it deletes only the files with the given names.
class InterruptedStorage : public LocalStorage {
 public:
  Status Delete(const std::string& path) const override {
    if (!Exists(*this, path)) return Internal("delete {}: interrupted", path);
    return LocalStorage::Delete(path);
  }
};

TEST_F(CheckpointDirectoryTest, OneThatIsHalfDeletedIsNoCheckpoint) {
  EXPECT_FALSE(DeleteCheckpoint(InterruptedStorage(), directory_).ok());
  EXPECT_TRUE(Exists(storage_, File(kModelName)));
  EXPECT_TRUE(FindCheckpoints(storage_, parent_)->empty());
  ASSERT_TRUE(DeleteCheckpoint(storage_, directory_).ok());
  EXPECT_TRUE(DeleteCheckpoint(storage_, directory_).ok());
  EXPECT_TRUE(storage_.List(parent_)->empty());
}

}  // namespace
}  // namespace gp::formats
