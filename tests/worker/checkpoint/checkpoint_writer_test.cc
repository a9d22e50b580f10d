// A save contains the state at its start, and is complete or absent, however the storage behaves.
#include "worker/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>

#include "base/mutex.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_fixture.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CheckpointWriterTest : public CheckpointFixture {};

TEST_F(CheckpointWriterTest, SavesWhatTheStateWasWhenStarted) {
  CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_,
                          {.copy_bytes_max = 1 << 20});
  const std::vector<float> original = parameters_;
  ASSERT_TRUE(writer.Start(State(1)).ok());
  writer.BeforeOverwrite(0, static_cast<int64_t>(parameters_.size()));
  std::fill(parameters_.begin(), parameters_.end(), 0.0f);
  const auto saved = writer.Wait(kPatience);
  ASSERT_TRUE(saved.ok()) << saved.status();
  parameters_ = original;
  EXPECT_TRUE(Load(saved->directory).ok());
}

TEST_F(CheckpointWriterTest, ModelFileDependsOnWeightsAndStepAlone) {
  const SavedCheckpoint first = Save(5);
  epoch_ = 4;
  identity_.run_id = "9876543210";
  const SavedCheckpoint second = Save(5);
  const auto bytes = [](const SavedCheckpoint& saved) {
    return *ReadFile(JoinPath(saved.directory, "model.safetensors"));
  };
  EXPECT_NE(first.directory, second.directory);
  EXPECT_EQ(bytes(first), bytes(second));
}

// Records the order in which files become durable.
class NotingStorage : public LocalStorage {
 public:
  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const override {
    ASSIGN_OR_RETURN(auto writer, LocalStorage::Create(path));
    return std::make_unique<Writer>(BaseNameOf(path), *this, std::move(writer));
  }
  Status Put(const std::string& path, std::string_view data) const override {
    Note(BaseNameOf(path));
    return LocalStorage::Put(path, data);
  }

  void Note(const std::string& name) const {
    MutexLock lock(mutex_);
    notes.push_back(name);
  }

  mutable std::vector<std::string> notes;

 private:
  mutable Mutex mutex_;

  class Writer : public StorageWriter {
   public:
    Writer(std::string name, const NotingStorage& storage, std::unique_ptr<StorageWriter> writer)
        : name_(std::move(name)), storage_(storage), writer_(std::move(writer)) {}
    Status Append(std::string_view data) override { return writer_->Append(data); }
    Status Close() override {
      const Status closed = writer_->Close();
      storage_.Note(name_);
      return closed;
    }

   private:
    std::string name_;
    const NotingStorage& storage_;
    std::unique_ptr<StorageWriter> writer_;
  };
};

TEST_F(CheckpointWriterTest, TheManifestFollowsEveryDurableFile) {
  const auto storage = std::make_shared<NotingStorage>();
  CheckpointWriter writer(storage, Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(1)).ok());
  ASSERT_TRUE(writer.Wait(kPatience).ok());
  EXPECT_THAT(storage->notes,
              ::testing::UnorderedElementsAre("model.safetensors", "optimizer.safetensors",
                                              "tokenizer.json", "manifest.json"));
  EXPECT_EQ(storage->notes.back(), "manifest.json");
}

TEST_F(CheckpointWriterTest, OneSaveAtATimeAndEachResultOnce) {
  CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_, {});
  EXPECT_EQ(writer.Wait(1s).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer.Start(State(1)).ok());
  EXPECT_TRUE(writer.in_flight());
  EXPECT_EQ(writer.Start(State(2)).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer.Wait(kPatience).ok());
  EXPECT_FALSE(writer.in_flight());
  EXPECT_EQ(writer.Take(), std::nullopt);
  EXPECT_TRUE(writer.Start(State(2)).ok());
  EXPECT_TRUE(writer.Wait(kPatience).ok());
}

TEST_F(CheckpointWriterTest, NeverTouchesACompleteCheckpoint) {
  const SavedCheckpoint saved = Save(7);
  CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(7)).ok());
  EXPECT_EQ(writer.Wait(kPatience).status().code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(Load(saved.directory).ok());
}

// A Storage that blocks before writing its first byte until the test releases it.
class HangingStorage : public LocalStorage {
 public:
  explicit HangingStorage(std::shared_future<void> let_go) : let_go_(std::move(let_go)) {}

  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const override {
    if (let_go_.wait_for(kPatience) == std::future_status::ready) return LocalStorage::Create(path);
    return Internal("nobody let the storage go");
  }

 private:
  const std::shared_future<void> let_go_;
};

TEST_F(CheckpointWriterTest, AHungStorageHoldsNobodyUpAndReadsNoStateThatIsGone) {
  std::promise<void> let_go;
  auto storage = std::make_shared<HangingStorage>(let_go.get_future().share());
  const std::weak_ptr<Storage> in_use = storage;
  {
    const std::vector<float> parameters = parameters_, first = first_, second = second_;
    CheckpointState state = State(1);
    state.parameters = parameters;
    state.first_moment = first;
    state.second_moment = second;
    CheckpointWriter writer(std::move(storage), Parent(), identity_, {.patience = 10ms});
    ASSERT_TRUE(writer.Start(state).ok());
  }
  EXPECT_FALSE(in_use.expired()) << "the hung thread still has it";
  let_go.set_value();
  EXPECT_TRUE(Eventually([&] { return in_use.expired(); }));
  EXPECT_EQ(*formats::FindNewestCheckpoint(LocalStorage(), Parent()), std::nullopt);
}

// A Storage from which nothing can be read.
class UnreadableStorage : public LocalStorage {
 public:
  StatusOr<std::string> Get(const std::string& path, uint64_t) const override {
    return Unavailable("read {}: stale file handle", path);
  }
};

TEST_F(CheckpointWriterTest, WhatCannotBeReadIsNotReplaced) {
  const SavedCheckpoint complete = Save(1);
  CheckpointWriter writer(std::make_shared<UnreadableStorage>(), Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(1)).ok());
  EXPECT_THAT(Message(writer.Wait(kPatience).status()), HasSubstr("stale file handle"));
  EXPECT_TRUE(
      formats::VerifyDigests(LocalStorage(), complete.directory, complete.manifest_digest, {})
          .ok());
}

// A Storage whose first commit fails when the manifest is already in place, and whose next deletion
// fails too.
class HalfCommittingStorage : public LocalStorage {
 public:
  Status Put(const std::string& path, std::string_view data) const override {
    RETURN_IF_ERROR(LocalStorage::Put(path, data));
    if (std::exchange(failed_, true)) return OkStatus();
    keeps_ = true;
    return Internal("sync {}: input/output error", path);
  }
  Status Delete(const std::string& path) const override {
    if (std::exchange(keeps_, false)) return Internal("remove {}: input/output error", path);
    return LocalStorage::Delete(path);
  }

 private:
  mutable bool failed_ = false;
  mutable bool keeps_ = false;
};

TEST_F(CheckpointWriterTest, AnAttemptThatFailedAtItsLastMomentIsRepeated) {
  CheckpointWriter writer(std::make_shared<HalfCommittingStorage>(), Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(1)).ok());
  ASSERT_THAT(Message(writer.Wait(kPatience).status()), HasSubstr("input/output error"));
  ASSERT_TRUE(writer.Start(State(1)).ok());
  const auto saved = writer.Wait(kPatience);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(
      formats::VerifyDigests(LocalStorage(), saved->directory, saved->manifest_digest, {}).ok());
}

// A Storage whose writes fail with "disk full" once `bytes_left` are used up.
class FullStorage : public LocalStorage {
 public:
  explicit FullStorage(int64_t bytes_left) : bytes_left_(bytes_left) {}

  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const override {
    ASSIGN_OR_RETURN(auto writer, LocalStorage::Create(path));
    return std::make_unique<Writer>(*this, std::move(writer));
  }
  Status Put(const std::string& path, std::string_view data) const override {
    RETURN_IF_ERROR(Use(data.size()));
    return LocalStorage::Put(path, data);
  }

 private:
  class Writer : public StorageWriter {
   public:
    Writer(const FullStorage& storage, std::unique_ptr<StorageWriter> writer)
        : storage_(storage), writer_(std::move(writer)) {}
    Status Append(std::string_view data) override {
      RETURN_IF_ERROR(storage_.Use(data.size()));
      return writer_->Append(data);
    }
    Status Close() override { return writer_->Close(); }

   private:
    const FullStorage& storage_;
    std::unique_ptr<StorageWriter> writer_;
  };

  Status Use(size_t bytes) const {
    bytes_left_ -= static_cast<int64_t>(bytes);
    return bytes_left_ >= 0 ? OkStatus() : ResourceExhausted("no space left on device");
  }

  mutable std::atomic<int64_t> bytes_left_;
};

TEST_F(CheckpointWriterTest, AFullDiskLeavesNothingBehindAndSaysWhy) {
  const auto total = static_cast<int64_t>(Save(1).size_bytes);
  for (const int64_t room : {int64_t{0}, int64_t{100}, total / 3, total / 2, total - 10}) {
    CheckpointWriter writer(std::make_shared<FullStorage>(room), Parent(), identity_, {});
    ASSERT_TRUE(writer.Start(State(2)).ok());
    const auto saved = writer.Wait(kPatience);
    ASSERT_EQ(saved.status().code(), StatusCode::kResourceExhausted) << room;
    EXPECT_THAT(Message(saved.status()), HasSubstr("checkpoint of step 2"));
    EXPECT_EQ(ListDirectory(Parent())->size(), 1u) << room;
  }
}

// A save that dies at a failpoint, like kill -9 at this point. The death test re-executes this
// program for the dying process, so the target directory is passed in the environment.
class KilledSave : public CheckpointFixture {
 protected:
  KilledSave() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("GP_KILLED_SAVE", Parent().c_str(), /*overwrite=*/0);
  }
  ~KilledSave() override { unsetenv("GP_KILLED_SAVE"); }

  void SaveAndDie(const std::string& failpoint) {
    setenv("GP_FAILPOINT", (failpoint + ":kill").c_str(), 1);
    CheckpointWriter writer(std::make_shared<LocalStorage>(), getenv("GP_KILLED_SAVE"), identity_,
                            {});
    writer.Start(State(3)).IgnoreError();
    writer.Wait(kPatience).IgnoreError();
  }
};

TEST_F(KilledSave, BeforeTheManifestLeavesNoCheckpoint) {
  EXPECT_EXIT(SaveAndDie("checkpoint.after_model"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(ListDirectory(Parent())->size(), 1u);
  EXPECT_EQ(*formats::FindNewestCheckpoint(LocalStorage(), Parent()), std::nullopt);
}

TEST_F(KilledSave, RightBeforeTheManifestLeavesNoCheckpoint) {
  EXPECT_EXIT(SaveAndDie("checkpoint.before_manifest"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(*formats::FindNewestCheckpoint(LocalStorage(), Parent()), std::nullopt);
}

TEST_F(KilledSave, AfterTheManifestLeavesAWholeCheckpoint) {
  EXPECT_EXIT(SaveAndDie("checkpoint.after_manifest"), ::testing::KilledBySignal(SIGKILL), "");
  const auto newest = formats::FindNewestCheckpoint(LocalStorage(), Parent());
  ASSERT_TRUE(newest.ok() && newest->has_value());
  EXPECT_TRUE(Load(**newest).ok()) << Load(**newest);
}

}  // namespace
}  // namespace gp::engine
