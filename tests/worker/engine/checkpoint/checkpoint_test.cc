// Writer and reader together: what is saved comes back bit for bit, and damage is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <future>
#include <numeric>
#include <thread>

#include "base/file.h"
#include "base/mutex.h"
#include "base/temporary_directory.h"
#include "formats/checkpoint_directory.h"
#include "formats/sha256.h"
#include "worker/engine/checkpoint/checkpoint_reader.h"
#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/checkpoint/local_storage.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kLong = 60s;  // nobody waits for so long unless something hangs

// A Storage whose writes fail like a full disk once `bytes_left` are used up.
class FullStorage : public LocalStorage {
 public:
  explicit FullStorage(int64_t bytes_left) : bytes_left_(bytes_left) {}

  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) override {
    ASSIGN_OR_RETURN(auto writer, LocalStorage::Create(path));
    return std::make_unique<Writer>(*this, std::move(writer));
  }
  Status WriteAtomically(const std::string& path, std::string_view data) override {
    RETURN_IF_ERROR(Use(data.size()));
    return LocalStorage::WriteAtomically(path, data);
  }

 private:
  class Writer : public StorageWriter {
   public:
    Writer(FullStorage& storage, std::unique_ptr<StorageWriter> writer)
        : storage_(storage), writer_(std::move(writer)) {}
    Status Append(std::string_view data) override {
      RETURN_IF_ERROR(storage_.Use(data.size()));
      return writer_->Append(data);
    }
    Status Close() override { return writer_->Close(); }

   private:
    FullStorage& storage_;
    std::unique_ptr<StorageWriter> writer_;
  };

  Status Use(size_t bytes) {
    bytes_left_ -= static_cast<int64_t>(bytes);
    return bytes_left_ >= 0 ? OkStatus() : ResourceExhausted("no space left on device");
  }

  std::atomic<int64_t> bytes_left_;
};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    identity_.run_id = "0123456789";
    identity_.run_name = "demo";
    identity_.incarnation = "abcdef";
    identity_.epoch = 3;
    identity_.shape = {.layers = 2,
                       .heads = 3,
                       .channels = 15,
                       .context = 7,
                       .vocabulary = 11,
                       .vocabulary_padded = 13};
    identity_.data_fingerprint = "data";
    identity_.tokenizer = R"({"kind":"bytes"})";
    identity_.tokenizer_fingerprint = "tokenizer";
    const auto layout = runspec::MakeParameterLayout(identity_.shape);
    for (auto* buffer : {&parameters_, &first_, &second_}) {
      buffer->assign(static_cast<size_t>(layout.total_count), 0.0f);
      for (const auto& tensor : layout.tensors) {
        for (int64_t i = 0; i < tensor.count; ++i) {
          (*buffer)[static_cast<size_t>(tensor.offset + i)] = std::sin(next_ += 0.7f);
        }
      }
    }
  }

  CheckpointState State(int64_t step) const {
    return {.step = step,
            .tokens = step * 768,
            .validation_loss = 1.5,
            .record = {{"step_budget", "99"}},
            .final = true,
            .parameters = parameters_,
            .first_moment = first_,
            .second_moment = second_};
  }

  std::string Parent() const { return JoinPath(directory_.path(), "checkpoints"); }

  SavedCheckpoint Save(int64_t step) {
    CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_, {});
    EXPECT_TRUE(writer.Start(State(step)).ok());
    const auto saved = writer.Wait(kLong);
    EXPECT_TRUE(saved.ok()) << saved.status();
    return saved.value_or(SavedCheckpoint{});
  }

  CheckpointExpectation Expectation() const {
    return {.manifest_digest = "",
            .shape = identity_.shape,
            .data_fingerprint = "data",
            .tokenizer_fingerprint = "tokenizer"};
  }

  Status Load(const std::string& directory) {
    ASSIGN_OR_RETURN(const auto manifest,
                     ReadCheckpointManifest(storage_, directory, Expectation()));
    std::vector<float> parameters(parameters_.size(), 9), first = parameters, second = parameters;
    RETURN_IF_ERROR(ReadTrainingState(storage_, directory, manifest,
                                      runspec::MakeParameterLayout(identity_.shape), parameters,
                                      first, second));
    EXPECT_EQ(parameters, parameters_);
    EXPECT_EQ(first, first_);
    EXPECT_EQ(second, second_);
    return OkStatus();
  }

  TemporaryDirectory directory_;
  LocalStorage storage_;
  CheckpointIdentity identity_;
  std::vector<float> parameters_, first_, second_;
  float next_ = 0;
};

TEST_F(CheckpointTest, TheMomentsOfFrozenPartsAreNeitherSavedNorRead) {
  identity_.trained = {.trained = {*runspec::ParseModelPart("last 1 blocks", identity_.shape),
                                   *runspec::ParseModelPart("ln_f", identity_.shape)}};
  const std::string directory = Save(250).directory;
  const auto layout = runspec::MakeParameterLayout(identity_.shape, identity_.trained);
  const auto manifest = ReadCheckpointManifest(storage_, directory, Expectation());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto file =
      std::find_if(manifest->files.begin(), manifest->files.end(),
                   [](const auto& candidate) { return candidate.name == formats::kOptimizerName; });
  ASSERT_NE(file, manifest->files.end());
  const auto moment_bytes = static_cast<uint64_t>(2 * 4 * runspec::TrainedParameterCount(layout));
  EXPECT_GE(file->size_bytes, moment_bytes);
  EXPECT_LE(file->size_bytes, moment_bytes + 4096) << "and a header";

  std::vector<float> parameters(parameters_.size()), first(parameters_.size(), 9), second = first;
  const Status read =
      ReadTrainingState(storage_, directory, *manifest, layout, parameters, first, second);
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_EQ(parameters, parameters_);
  for (const auto& tensor : layout.tensors) {
    const auto at = static_cast<size_t>(tensor.offset);
    EXPECT_EQ(first[at], tensor.trained ? first_[at] : 9) << tensor.name;
    EXPECT_EQ(second[at], tensor.trained ? second_[at] : 9) << tensor.name;
  }
}

TEST_F(CheckpointTest, ComesBackBitForBit) {
  const SavedCheckpoint saved = Save(250);
  EXPECT_EQ(BaseNameOf(saved.directory), "step-00000250-e3-abcdef");
  EXPECT_TRUE(saved.final);
  const auto manifest = formats::VerifyCheckpoint(saved.directory, saved.manifest_digest);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->step, 250);
  EXPECT_EQ(manifest->tokens, 250 * 768);
  EXPECT_EQ(manifest->validation_loss, 1.5);
  EXPECT_EQ(manifest->record.at("step_budget"), "99");
  EXPECT_EQ(saved.size_bytes,
            manifest->SizeBytes() + *FileSize(JoinPath(saved.directory, "manifest.json")));
  EXPECT_EQ(*ReadTokenizer(storage_, saved.directory, *manifest), identity_.tokenizer);
  EXPECT_TRUE(Load(saved.directory).ok()) << Load(saved.directory);
}

TEST_F(CheckpointTest, ModelFileDependsOnWeightsAndStepAlone) {
  const SavedCheckpoint first = Save(5);
  identity_.epoch = 4;
  identity_.run_id = "9876543210";
  const SavedCheckpoint second = Save(5);
  const auto bytes = [](const SavedCheckpoint& saved) {
    return *ReadFile(JoinPath(saved.directory, "model.safetensors"));
  };
  EXPECT_NE(first.directory, second.directory);
  EXPECT_EQ(bytes(first), bytes(second));
}

TEST_F(CheckpointTest, SavesWhatTheStateWasWhenStarted) {
  CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_,
                          {.copy_bytes_max = 1 << 20});
  const std::vector<float> original = parameters_;
  ASSERT_TRUE(writer.Start(State(1)).ok());
  writer.BeforeOverwrite(0, static_cast<int64_t>(parameters_.size()));
  std::fill(parameters_.begin(), parameters_.end(), 0.0f);
  const auto saved = writer.Wait(kLong);
  ASSERT_TRUE(saved.ok()) << saved.status();
  parameters_ = original;
  EXPECT_TRUE(Load(saved->directory).ok());
}

// Notes the order in which files become durable.
class NotingStorage : public LocalStorage {
 public:
  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) override {
    ASSIGN_OR_RETURN(auto writer, LocalStorage::Create(path));
    return std::make_unique<Writer>(BaseNameOf(path), *this, std::move(writer));
  }
  Status WriteAtomically(const std::string& path, std::string_view data) override {
    Note(BaseNameOf(path));
    return LocalStorage::WriteAtomically(path, data);
  }

  void Note(const std::string& name) {
    MutexLock lock(mutex_);
    notes.push_back(name);
  }

  std::vector<std::string> notes;

 private:
  Mutex mutex_;

  class Writer : public StorageWriter {
   public:
    Writer(std::string name, NotingStorage& storage, std::unique_ptr<StorageWriter> writer)
        : name_(std::move(name)), storage_(storage), writer_(std::move(writer)) {}
    Status Append(std::string_view data) override { return writer_->Append(data); }
    Status Close() override {
      const Status closed = writer_->Close();
      storage_.Note(name_);
      return closed;
    }

   private:
    std::string name_;
    NotingStorage& storage_;
    std::unique_ptr<StorageWriter> writer_;
  };
};

TEST_F(CheckpointTest, TheManifestFollowsEveryDurableFile) {
  const auto storage = std::make_shared<NotingStorage>();
  CheckpointWriter writer(storage, Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(1)).ok());
  ASSERT_TRUE(writer.Wait(kLong).ok());
  EXPECT_THAT(storage->notes,
              ::testing::UnorderedElementsAre("model.safetensors", "optimizer.safetensors",
                                              "tokenizer.json", "manifest.json"));
  EXPECT_EQ(storage->notes.back(), "manifest.json");
}

TEST_F(CheckpointTest, OneSaveAtATimeAndEachResultOnce) {
  CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_, {});
  EXPECT_EQ(writer.Wait(1s).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer.Start(State(1)).ok());
  EXPECT_TRUE(writer.in_flight());
  EXPECT_EQ(writer.Start(State(2)).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer.Wait(kLong).ok());
  EXPECT_FALSE(writer.in_flight());
  EXPECT_EQ(writer.Take(), std::nullopt);
  EXPECT_TRUE(writer.Start(State(2)).ok());
  EXPECT_TRUE(writer.Wait(kLong).ok());
}

// A Storage that hangs before its first byte until it is let go.
class HangingStorage : public LocalStorage {
 public:
  explicit HangingStorage(std::shared_future<void> let_go) : let_go_(std::move(let_go)) {}

  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) override {
    if (let_go_.wait_for(kLong) == std::future_status::ready) return LocalStorage::Create(path);
    return Internal("nobody let the storage go");
  }

 private:
  const std::shared_future<void> let_go_;
};

TEST_F(CheckpointTest, AHungStorageHoldsNobodyUpAndReadsNoStateThatIsGone) {
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
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (!in_use.expired() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(in_use.expired());
  EXPECT_EQ(*formats::FindNewestCheckpoint(Parent()), std::nullopt);
}

// A Storage that cannot be read.
class UnreadableStorage : public LocalStorage {
 public:
  StatusOr<std::string> Read(const std::string& path, uint64_t) override {
    return Unavailable("read {}: stale file handle", path);
  }
};

TEST_F(CheckpointTest, WhatCannotBeReadIsNotReplaced) {
  const SavedCheckpoint complete = Save(1);
  CheckpointWriter writer(std::make_shared<UnreadableStorage>(), Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(1)).ok());
  EXPECT_THAT(Message(writer.Wait(kLong).status()), HasSubstr("stale file handle"));
  EXPECT_TRUE(formats::VerifyDigests(complete.directory, complete.manifest_digest, {}).ok());
}

// A Storage whose first manifest is in place when its commit fails, and which removes nothing then.
class HalfCommittingStorage : public LocalStorage {
 public:
  Status WriteAtomically(const std::string& path, std::string_view data) override {
    RETURN_IF_ERROR(LocalStorage::WriteAtomically(path, data));
    if (std::exchange(failed_, true)) return OkStatus();
    keeps_ = true;
    return Internal("sync {}: input/output error", path);
  }
  Status RemoveTree(const std::string& path) override {
    if (std::exchange(keeps_, false)) return Internal("remove {}: input/output error", path);
    return LocalStorage::RemoveTree(path);
  }

 private:
  bool failed_ = false;
  bool keeps_ = false;
};

TEST_F(CheckpointTest, AnAttemptThatFailedAtItsLastMomentIsRepeated) {
  CheckpointWriter writer(std::make_shared<HalfCommittingStorage>(), Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(1)).ok());
  ASSERT_THAT(Message(writer.Wait(kLong).status()), HasSubstr("input/output error"));
  ASSERT_TRUE(writer.Start(State(1)).ok());
  const auto saved = writer.Wait(kLong);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(formats::VerifyDigests(saved->directory, saved->manifest_digest, {}).ok());
}

TEST_F(CheckpointTest, AFullDiskLeavesNothingBehindAndSaysWhy) {
  const auto total = static_cast<int64_t>(Save(1).size_bytes);
  for (const int64_t room : {int64_t{0}, int64_t{100}, total / 3, total / 2, total - 10}) {
    CheckpointWriter writer(std::make_shared<FullStorage>(room), Parent(), identity_, {});
    ASSERT_TRUE(writer.Start(State(2)).ok());
    const auto saved = writer.Wait(kLong);
    ASSERT_EQ(saved.status().code(), StatusCode::kResourceExhausted) << room;
    EXPECT_THAT(Message(saved.status()), HasSubstr("checkpoint of step 2"));
    EXPECT_EQ(ListDirectory(Parent())->size(), 1u) << room;
  }
}

// A save that dies at a failpoint, as kill -9 there would. The dying process is started anew with
// this test as its task, so the place to save to travels in the environment.
class KilledSave : public CheckpointTest {
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
    writer.Wait(kLong).IgnoreError();
  }
};

TEST_F(KilledSave, BeforeTheManifestLeavesNoCheckpoint) {
  EXPECT_EXIT(SaveAndDie("checkpoint.after_model"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(ListDirectory(Parent())->size(), 1u);
  EXPECT_EQ(*formats::FindNewestCheckpoint(Parent()), std::nullopt);
}

TEST_F(KilledSave, RightBeforeTheManifestLeavesNoCheckpoint) {
  EXPECT_EXIT(SaveAndDie("checkpoint.before_manifest"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(*formats::FindNewestCheckpoint(Parent()), std::nullopt);
}

TEST_F(KilledSave, AfterTheManifestLeavesAWholeCheckpoint) {
  EXPECT_EXIT(SaveAndDie("checkpoint.after_manifest"), ::testing::KilledBySignal(SIGKILL), "");
  const auto newest = formats::FindNewestCheckpoint(Parent());
  ASSERT_TRUE(newest.ok() && newest->has_value());
  EXPECT_TRUE(Load(**newest).ok()) << Load(**newest);
}

TEST_F(CheckpointTest, NeverTouchesACompleteCheckpoint) {
  const SavedCheckpoint saved = Save(7);
  CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_, {});
  ASSERT_TRUE(writer.Start(State(7)).ok());
  EXPECT_EQ(writer.Wait(kLong).status().code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(Load(saved.directory).ok());
}

TEST_F(CheckpointTest, VerifyNamesWhatIsWrongThoughEveryDigestMatches) {
  const auto verify = [&](int64_t step) {
    return Message(formats::VerifyCheckpoint(Save(step).directory).status());
  };
  parameters_[17] = std::nanf("");
  EXPECT_THAT(verify(1),
              HasSubstr("model.safetensors: tensor 'wte.weight' is not finite at element 17"));
  parameters_[17] = 0;
  second_[3] = INFINITY;
  EXPECT_THAT(verify(2), HasSubstr("optimizer.safetensors: tensor 'exp_avg_sq.wte.weight'"));
  second_[3] = 0;
  identity_.tokenizer = "{";
  EXPECT_THAT(verify(3), HasSubstr("tokenizer.json describes no tokenizer"));
  identity_.tokenizer = R"({"kind":"bytes"})";
  const std::string path = JoinPath(Save(4).directory, "manifest.json");
  auto manifest = *formats::ReadManifest(DirectoryOf(path));
  manifest.files.clear();
  ASSERT_TRUE(WriteFileAtomically(path, formats::FormatManifest(manifest)).ok());
  EXPECT_THAT(Message(formats::VerifyCheckpoint(DirectoryOf(path)).status()),
              HasSubstr("does not list model.safetensors"));
}

// What version 1 of the manifest had: the SHA-256 of every file.
TEST_F(CheckpointTest, ReadsACheckpointOfTheFirstVersion) {
  const SavedCheckpoint saved = Save(9);
  auto manifest = *formats::ReadManifest(saved.directory);
  for (formats::CheckpointFile& file : manifest.files) {
    file.digest_kind = formats::DigestKind::kSha256;
    file.digest = *formats::DigestOfFile(JoinPath(saved.directory, file.name), file.digest_kind);
  }
  std::string text = formats::FormatManifest(manifest);
  const size_t version = text.find("\"version\": 2");
  ASSERT_NE(version, std::string::npos);
  text.replace(version, 12, "\"version\": 1");
  ASSERT_TRUE(WriteFileAtomically(JoinPath(saved.directory, "manifest.json"), text).ok());
  EXPECT_TRUE(Load(saved.directory).ok()) << Load(saved.directory);
  EXPECT_TRUE(formats::VerifyCheckpoint(saved.directory).ok());
}

TEST_F(CheckpointTest, NamesTheFileThatIsCutShortChangedOrMissing) {
  const SavedCheckpoint saved = Save(9);
  for (const std::string name : {"model.safetensors", "optimizer.safetensors", "tokenizer.json"}) {
    const std::string path = JoinPath(saved.directory, name);
    const std::string good = *ReadFile(path);
    std::string flipped = good;
    flipped[flipped.size() / 2] ^= 1;
    for (const std::string& bad :
         {flipped, good.substr(0, good.size() - 1), good + "x", std::string()}) {
      ASSERT_TRUE(WriteFileAtomically(path, bad).ok());
      EXPECT_EQ(Load(saved.directory).code(), StatusCode::kDataLoss);
      EXPECT_THAT(Message(Load(saved.directory)), HasSubstr(name));
      EXPECT_THAT(Message(formats::VerifyCheckpoint(saved.directory).status()), HasSubstr(name));
    }
    ASSERT_TRUE(RemoveTree(path).ok());
    EXPECT_FALSE(Load(saved.directory).ok());
    EXPECT_THAT(Message(formats::VerifyCheckpoint(saved.directory).status()), HasSubstr(name));
    ASSERT_TRUE(WriteFileAtomically(path, good).ok());
  }
  EXPECT_TRUE(Load(saved.directory).ok());
}

TEST_F(CheckpointTest, RefusesWhatIsWholeButDoesNotFit) {
  const SavedCheckpoint saved = Save(9);
  const auto refusal = [&](const CheckpointExpectation& expected) {
    const auto manifest = ReadCheckpointManifest(storage_, saved.directory, expected);
    EXPECT_FALSE(manifest.ok());
    return Message(manifest.status());
  };
  CheckpointExpectation other = Expectation();
  other.shape.layers = 3;
  EXPECT_THAT(refusal(other), HasSubstr("another model"));
  other = Expectation();
  other.data_fingerprint = "other";
  EXPECT_THAT(refusal(other), HasSubstr("other data"));
  other = Expectation();
  other.tokenizer_fingerprint = "other";
  EXPECT_THAT(refusal(other), HasSubstr("another tokenizer"));
  other = Expectation();
  other.manifest_digest = std::string(64, '0');
  EXPECT_THAT(refusal(other), HasSubstr("not the sealed checkpoint"));
  other = Expectation();
  other.shape.dropout = 0.5;
  other.data_fingerprint = "";
  EXPECT_TRUE(ReadCheckpointManifest(storage_, saved.directory, other).ok());
}

TEST_F(CheckpointTest, RefusesTensorsOfAnotherShape) {
  const SavedCheckpoint saved = Save(9);
  auto manifest = *formats::ReadManifest(saved.directory);
  manifest.shape.context = 8;
  std::vector<float> parameters(
      static_cast<size_t>(runspec::MakeParameterLayout(manifest.shape).total_count));
  const Status status = ReadWeights(storage_, saved.directory, manifest, parameters);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("wpe.weight"));
  EXPECT_THAT(Message(status), HasSubstr("expected F32 [8, 15]"));
}

TEST_F(CheckpointTest, WeightsByTensorAreTheSameWeights) {
  const SavedCheckpoint saved = Save(9);
  const auto manifest = *formats::ReadManifest(saved.directory);
  const auto layout = runspec::MakeParameterLayout(manifest.shape);
  std::vector<float> whole(static_cast<size_t>(layout.total_count));
  ASSERT_TRUE(ReadWeights(storage_, saved.directory, manifest, whole).ok());
  std::vector<float> pieces(whole.size());
  size_t taken = 0;
  const Status status =
      ReadWeightsByTensor(storage_, saved.directory, manifest,
                          [&](const runspec::ParameterInfo& tensor, std::span<const float> values) {
                            ASSERT_EQ(std::ssize(values), tensor.count) << tensor.name;
                            std::copy(values.begin(), values.end(), pieces.begin() + tensor.offset);
                            ++taken;
                          });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(taken, layout.tensors.size());
  EXPECT_EQ(pieces, whole);
}

TEST_F(CheckpointTest, WeightsByTensorOfADamagedFileAreRefused) {
  const SavedCheckpoint saved = Save(9);
  const auto manifest = *formats::ReadManifest(saved.directory);
  const std::string path = JoinPath(saved.directory, formats::kModelName);
  std::string bytes = *ReadFile(path);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  const Status status =
      ReadWeightsByTensor(storage_, saved.directory, manifest, [](const auto&, auto) {});
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
}

TEST_F(CheckpointTest, TheNewestCompleteCheckpointIsFound) {
  EXPECT_EQ(*formats::FindNewestCheckpoint(Parent()), std::nullopt);
  Save(9);
  const std::string newest = Save(10).directory;
  ASSERT_TRUE(MakeDirectories(JoinPath(Parent(), "step-00000011-e9-partial")).ok());
  EXPECT_EQ(*formats::FindNewestCheckpoint(Parent()), newest);
}

TEST_F(CheckpointTest, ADamagedManifestIsNoReasonToGoBackSilently) {
  Save(9);
  const std::string newest = Save(10).directory;
  ASSERT_TRUE(WriteFileAtomically(JoinPath(newest, "manifest.json"), "{").ok());
  const auto found = formats::FindNewestCheckpoint(Parent());
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(Message(found.status()), HasSubstr(newest));
}

}  // namespace
}  // namespace gp::engine
