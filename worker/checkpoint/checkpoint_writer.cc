#include "worker/checkpoint/checkpoint_writer.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/mutex.h"
#include "formats/checkpoint_directory.h"
#include "formats/checkpoint_manifest.h"
#include "formats/safetensors.h"
#include "formats/sha256.h"

namespace gp::engine {
namespace {

using formats::CheckpointFile;
using formats::DigestKind;
using runspec::ParameterInfo;
using runspec::ParameterLayout;

// Training has a slightly higher priority than the writer. Only slightly, because the optimizer may
// have to wait for the writer, and then the writer must not wait for all other processes.
constexpr int kNiceness = 2;
constexpr int kIoPriority = (2 << 13) | 7;  // best effort, the lowest

// Lowers the priority of the calling thread. If the system refuses, everything still works, a
// little slower.
void YieldToTraining() {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, thread, kNiceness);
  syscall(SYS_ioprio_set, /*IOPRIO_WHO_PROCESS*/ 1, thread, kIoPriority);
}

std::string_view BytesOf(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Writes one file to storage and computes its size and digest on the way.
class DigestingWriter {
 public:
  static StatusOr<DigestingWriter> Create(const Storage& storage, const std::string& directory,
                                          const std::string& name, DigestKind kind) {
    DigestingWriter writer(kind);
    writer.file_.name = name;
    writer.file_.digest_kind = kind;
    ASSIGN_OR_RETURN(writer.writer_, storage.Create(JoinPath(directory, name)));
    return writer;
  }

  Status Append(std::string_view data) {
    digest_.Update(data);
    file_.size_bytes += data.size();
    return writer_->Append(data);
  }

  StatusOr<CheckpointFile> Close() {
    RETURN_IF_ERROR(writer_->Close());
    file_.digest = digest_.Finish();
    return file_;
  }

 private:
  explicit DigestingWriter(DigestKind kind) : digest_(kind) {}

  std::unique_ptr<StorageWriter> writer_;
  formats::FileDigest digest_;
  CheckpointFile file_;
};

// A flat buffer of tensors, which are stored under their layout's names with `prefix`.
struct TensorGroup {
  std::string prefix;
  int buffer = 0;  // index of a buffer in the snapshot
};

std::vector<ParameterInfo> TrainedTensors(const ParameterLayout& layout) {
  std::vector<ParameterInfo> trained = layout.tensors;
  std::erase_if(trained, [](const ParameterInfo& tensor) { return !tensor.trained; });
  return trained;
}

StatusOr<CheckpointFile> WriteTensors(const Storage& storage, const std::string& directory,
                                      const std::string& name,
                                      const std::vector<ParameterInfo>& tensors,
                                      const std::vector<TensorGroup>& groups, DigestKind digest,
                                      StreamedSnapshot& snapshot,
                                      const std::map<std::string, std::string>& metadata) {
  std::vector<formats::TensorEntry> entries;
  for (const TensorGroup& group : groups) {
    for (const ParameterInfo& tensor : tensors) {
      entries.push_back(
          {.name = group.prefix + tensor.name, .dtype = "F32", .shape = tensor.shape});
    }
  }
  ASSIGN_OR_RETURN(DigestingWriter writer,
                   DigestingWriter::Create(storage, directory, name, digest));
  RETURN_IF_ERROR(writer.Append(formats::FormatSafetensorsHeader(entries, metadata)));
  for (const TensorGroup& group : groups) {
    for (const ParameterInfo& tensor : tensors) {
      RETURN_IF_ERROR(snapshot.Read(
          group.buffer, tensor.offset, tensor.offset + tensor.count,
          [&](std::span<const float> values) { return writer.Append(BytesOf(values)); }));
    }
    snapshot.Finish(group.buffer);
  }
  return writer.Close();
}

StatusOr<CheckpointFile> WriteText(const Storage& storage, const std::string& directory,
                                   const std::string& name, const std::string& text) {
  ASSIGN_OR_RETURN(DigestingWriter writer,
                   DigestingWriter::Create(storage, directory, name, DigestKind::kSha256));
  RETURN_IF_ERROR(writer.Append(text));
  return writer.Close();
}

}  // namespace

// The state of the writing thread, and its one job. The thread and the writer share it, because a
// thread that hangs in the storage may outlive the writer.
class CheckpointWriter::Worker {
 public:
  Worker(std::shared_ptr<const Storage> storage, std::string parent, CheckpointIdentity identity,
         const StreamedSnapshot::Options& options)
      : patience_(options.patience),
        owned_storage_(std::move(storage)),
        storage_(*owned_storage_),
        parent_(std::move(parent)),
        identity_(std::move(identity)),
        layout_(runspec::MakeParameterLayout(identity_.shape, identity_.trained)),
        snapshot_(options) {}

  static std::thread StartThread(const std::shared_ptr<Worker>& worker) {
    return std::thread([worker] { worker->Run(); });
  }

  // Waits for the job in flight, within patience. False when it hangs; the training state may be
  // freed even then.
  bool Close() EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    {
      MutexLock lock(mutex_);
      closing_ = true;
      changed_.NotifyAll();
      while (job_ && changed_.WaitUntil(mutex_, deadline)) continue;
      if (!job_) return true;
    }
    snapshot_.GiveUp();
    return false;
  }

  Status Start(const CheckpointState& state) EXCLUDES(mutex_) {
    CheckSizes(state);
    MutexLock lock(mutex_);
    if (job_ || result_) {
      return FailedPrecondition("the checkpoint of step {} is still being written", result_step_);
    }
    snapshot_.Open({state.parameters, state.first_moment, state.second_moment});
    job_ = state;
    result_step_ = state.step;
    changed_.NotifyAll();
    return OkStatus();
  }

  bool in_flight() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return job_ || result_;
  }

  void BeforeOverwrite(int64_t first, int64_t last) { snapshot_.BeforeOverwrite(first, last); }

  std::optional<StatusOr<SavedCheckpoint>> Take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(result_, std::nullopt);
  }

  StatusOr<SavedCheckpoint> Wait(std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    if (!job_ && !result_) return FailedPrecondition("no checkpoint is being written");
    while (!result_) {
      if (!changed_.WaitUntil(mutex_, deadline) && !result_) {
        return DeadlineExceeded("the checkpoint of step {} is still being written", result_step_);
      }
    }
    return *std::exchange(result_, std::nullopt);
  }

 private:
  void CheckSizes(const CheckpointState& state) const {
    const auto count = static_cast<size_t>(layout_.total_count);
    GP_CHECK(state.parameters.size() == count && state.first_moment.size() == count &&
             state.second_moment.size() == count);
  }

  void Run() EXCLUDES(mutex_) {
    YieldToTraining();
    while (const CheckpointState* job = NextJob()) {
      StatusOr<SavedCheckpoint> saved = Save(*job);
      snapshot_.Close();
      MutexLock lock(mutex_);
      job_.reset();
      result_ = std::move(saved);
      changed_.NotifyAll();
    }
  }

  // Waits for a job; nullptr when the owner is gone. The job belongs to this thread until it has a
  // result.
  const CheckpointState* NextJob() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!job_ && !closing_) changed_.WaitFor(mutex_, std::chrono::seconds(1));
    return job_ ? &*job_ : nullptr;
  }

  StatusOr<SavedCheckpoint> Save(const CheckpointState& state) {
    const std::string directory = JoinPath(
        parent_, formats::CheckpointDirectoryName(state.step, state.epoch, identity_.incarnation));
    if (directory != failed_) RETURN_IF_ERROR(CheckFree(directory));
    StatusOr<SavedCheckpoint> saved = WriteAll(state, directory);
    if (saved.ok()) return saved;
    failed_ = directory;
    // If this fails, the coordinator removes the directory later, because it was never reported.
    storage_.Delete(directory).IgnoreError();
    return WithContext(saved.status(), fmt::format("checkpoint of step {}", state.step));
  }

  // Refuses a directory that holds a complete checkpoint, because the coordinator may have sealed
  // it.
  Status CheckFree(const std::string& directory) const {
    const Status manifest =
        storage_.Get(JoinPath(directory, formats::kManifestName), UINT64_MAX).status();
    if (manifest.ok()) {
      return AlreadyExists("{} holds a complete checkpoint already", directory);
    }
    return manifest.code() == StatusCode::kNotFound ? OkStatus() : manifest;
  }

  StatusOr<SavedCheckpoint> WriteAll(const CheckpointState& state, const std::string& directory) {
    // The run's directory may have been deleted meanwhile; its parent exists, unless the storage is
    // unmounted.
    RETURN_IF_ERROR(storage_.MakeDirectory(DirectoryOf(parent_)));
    RETURN_IF_ERROR(storage_.MakeDirectory(parent_));
    // An earlier attempt may have left files that it could not remove.
    RETURN_IF_ERROR(storage_.Delete(directory));
    RETURN_IF_ERROR(storage_.MakeDirectory(directory));
    formats::CheckpointManifest manifest = ManifestOf(state);
    ASSIGN_OR_RETURN(manifest.files, WriteState(state, directory));
    ASSIGN_OR_RETURN(CheckpointFile tokenizer,
                     WriteText(storage_, directory, formats::kTokenizerName, identity_.tokenizer));
    Failpoint("checkpoint.before_manifest");
    manifest.files.push_back(std::move(tokenizer));
    const std::string text = formats::FormatManifest(manifest);
    RETURN_IF_ERROR(storage_.Put(JoinPath(directory, formats::kManifestName), text));
    Failpoint("checkpoint.after_manifest");
    return SavedCheckpoint{{.step = state.step,
                            .directory = directory,
                            .manifest_digest = formats::Sha256Hex(text),
                            .size_bytes = manifest.SizeBytes() + text.size(),
                            .validation_loss = state.validation_loss,
                            .final = state.final}};
  }

  // Writes both files at the same time: when training waits for them, the processors are free.
  StatusOr<std::vector<CheckpointFile>> WriteState(const CheckpointState& state,
                                                   const std::string& directory) {
    StatusOr<CheckpointFile> optimizer = Internal("it was not written");
    std::thread second([&] {
      YieldToTraining();
      optimizer = WriteOptimizer(state, directory);
    });
    StatusOr<CheckpointFile> model =
        WriteTensors(storage_, directory, formats::kModelName, layout_.tensors, {{"", 0}},
                     DigestKind::kSha256, snapshot_, formats::WeightsMetadata(state.step));
    snapshot_.Finish(0);
    Failpoint("checkpoint.after_model");
    second.join();
    RETURN_IF_ERROR(model.status());
    RETURN_IF_ERROR(optimizer.status());
    return std::vector{std::move(model).value(), std::move(optimizer).value()};
  }

  StatusOr<CheckpointFile> WriteOptimizer(const CheckpointState& state,
                                          const std::string& directory) {
    StatusOr<CheckpointFile> optimizer =
        WriteTensors(storage_, directory, formats::kOptimizerName, TrainedTensors(layout_),
                     {{"exp_avg.", 1}, {"exp_avg_sq.", 2}}, DigestKind::kXxh3, snapshot_,
                     formats::WeightsMetadata(state.step));
    snapshot_.Finish(1);
    snapshot_.Finish(2);
    return optimizer;
  }

  formats::CheckpointManifest ManifestOf(const CheckpointState& state) const {
    return {.run_id = identity_.run_id,
            .run_name = identity_.run_name,
            .incarnation = identity_.incarnation,
            .epoch = state.epoch,
            .step = state.step,
            .tokens = state.tokens,
            .validation_loss = state.validation_loss,
            .shape = identity_.shape,
            .data_fingerprint = identity_.data_fingerprint,
            .tokenizer_fingerprint = identity_.tokenizer_fingerprint,
            .record = state.record,
            .files = {}};
  }

  const std::chrono::nanoseconds patience_;
  const std::shared_ptr<const Storage> owned_storage_;
  const Storage& storage_;
  const std::string parent_;
  const CheckpointIdentity identity_;
  std::string failed_;  // directory of the last save that failed; used by the worker thread only
  const ParameterLayout layout_;
  StreamedSnapshot snapshot_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<CheckpointState> job_ GUARDED_BY(mutex_);  // being written
  std::optional<StatusOr<SavedCheckpoint>> result_ GUARDED_BY(mutex_);
  int64_t result_step_ GUARDED_BY(mutex_) = 0;  // the step of job_ or result_
  bool closing_ GUARDED_BY(mutex_) = false;
};

CheckpointWriter::CheckpointWriter(std::shared_ptr<const Storage> storage, std::string parent,
                                   CheckpointIdentity identity,
                                   const StreamedSnapshot::Options& options)
    : worker_(std::make_shared<Worker>(std::move(storage), std::move(parent), std::move(identity),
                                       options)),
      thread_(Worker::StartThread(worker_)) {}

CheckpointWriter::~CheckpointWriter() {
  if (worker_->Close()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

Status CheckpointWriter::Start(const CheckpointState& state) { return worker_->Start(state); }

void CheckpointWriter::BeforeOverwrite(int64_t first, int64_t last) {
  worker_->BeforeOverwrite(first, last);
}

bool CheckpointWriter::in_flight() const { return worker_->in_flight(); }

std::optional<StatusOr<SavedCheckpoint>> CheckpointWriter::Take() { return worker_->Take(); }

StatusOr<SavedCheckpoint> CheckpointWriter::Wait(std::chrono::nanoseconds timeout) {
  return worker_->Wait(timeout);
}

}  // namespace gp::engine
