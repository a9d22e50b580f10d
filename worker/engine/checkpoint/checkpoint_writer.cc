#include "worker/engine/checkpoint/checkpoint_writer.h"

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
using runspec::ParameterInfo;
using runspec::ParameterLayout;

// The state, copied: training overwrites the originals while this is written.
struct Snapshot {
  CheckpointState state;  // its spans point to the originals: use the vectors
  std::vector<float> parameters;
  std::vector<float> first_moment;
  std::vector<float> second_moment;
};

std::string_view BytesOf(const std::vector<float>& values, const ParameterInfo& tensor) {
  return {reinterpret_cast<const char*>(values.data() + tensor.offset),
          static_cast<size_t>(tensor.count) * sizeof(float)};
}

// One file on its way to storage, digested as it goes.
class DigestingWriter {
 public:
  static StatusOr<DigestingWriter> Create(Storage& storage, const std::string& directory,
                                          const std::string& name) {
    DigestingWriter writer;
    writer.file_.name = name;
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
    file_.sha256 = digest_.Finish();
    return file_;
  }

 private:
  std::unique_ptr<StorageWriter> writer_;
  formats::Sha256 digest_;
  CheckpointFile file_;
};

// Tensors of one flat buffer, under their layout's names with a prefix.
struct TensorGroup {
  std::string prefix;
  const std::vector<float>& values;
};

StatusOr<CheckpointFile> WriteTensors(Storage& storage, const std::string& directory,
                                      const std::string& name, const ParameterLayout& layout,
                                      const std::vector<TensorGroup>& groups,
                                      const std::map<std::string, std::string>& metadata) {
  std::vector<formats::TensorEntry> entries;
  for (const TensorGroup& group : groups) {
    for (const ParameterInfo& tensor : layout.tensors) {
      entries.push_back(
          {.name = group.prefix + tensor.name, .dtype = "F32", .shape = tensor.shape});
    }
  }
  ASSIGN_OR_RETURN(DigestingWriter writer, DigestingWriter::Create(storage, directory, name));
  RETURN_IF_ERROR(writer.Append(formats::FormatSafetensorsHeader(entries, metadata)));
  for (const TensorGroup& group : groups) {
    for (const ParameterInfo& tensor : layout.tensors) {
      RETURN_IF_ERROR(writer.Append(BytesOf(group.values, tensor)));
    }
  }
  return writer.Close();
}

StatusOr<CheckpointFile> WriteText(Storage& storage, const std::string& directory,
                                   const std::string& name, const std::string& text) {
  ASSIGN_OR_RETURN(DigestingWriter writer, DigestingWriter::Create(storage, directory, name));
  RETURN_IF_ERROR(writer.Append(text));
  return writer.Close();
}

}  // namespace

// The thread that writes, and the one job it may have.
class CheckpointWriter::Worker {
 public:
  Worker(Storage& storage, std::string parent, CheckpointIdentity identity)
      : storage_(storage),
        parent_(std::move(parent)),
        identity_(std::move(identity)),
        layout_(runspec::MakeParameterLayout(identity_.shape)),
        thread_([this] { Run(); }) {}

  ~Worker() {
    {
      MutexLock lock(mutex_);
      closing_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

  Status Start(const CheckpointState& state) EXCLUDES(mutex_) {
    CheckSizes(state);
    MutexLock lock(mutex_);
    if (job_ != nullptr || result_) {
      return FailedPrecondition("the checkpoint of step {} is still being written",
                                job_ != nullptr ? job_->state.step : result_step_);
    }
    job_ = Copy(state);
    result_step_ = state.step;
    changed_.NotifyAll();
    return OkStatus();
  }

  bool in_flight() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return job_ != nullptr || result_.has_value();
  }

  std::optional<StatusOr<SavedCheckpoint>> Take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(result_, std::nullopt);
  }

  StatusOr<SavedCheckpoint> Wait(std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    if (job_ == nullptr && !result_) return FailedPrecondition("no checkpoint is being written");
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

  // The buffers of the last snapshot are used again: a save allocates nothing after the first.
  std::unique_ptr<Snapshot> Copy(const CheckpointState& state) REQUIRES(mutex_) {
    auto snapshot = spare_ != nullptr ? std::move(spare_) : std::make_unique<Snapshot>();
    snapshot->state = state;
    snapshot->parameters.assign(state.parameters.begin(), state.parameters.end());
    snapshot->first_moment.assign(state.first_moment.begin(), state.first_moment.end());
    snapshot->second_moment.assign(state.second_moment.begin(), state.second_moment.end());
    return snapshot;
  }

  void Run() EXCLUDES(mutex_) {
    while (const Snapshot* job = NextJob()) {
      StatusOr<SavedCheckpoint> saved = Save(*job);
      MutexLock lock(mutex_);
      spare_ = std::move(job_);
      result_ = std::move(saved);
      changed_.NotifyAll();
    }
  }

  // Waits for a job; nullptr once the owner is gone. The job stays this thread's until it has a
  // result.
  const Snapshot* NextJob() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (job_ == nullptr && !closing_) changed_.WaitFor(mutex_, std::chrono::seconds(1));
    return job_.get();
  }

  StatusOr<SavedCheckpoint> Save(const Snapshot& snapshot) {
    const std::string directory =
        JoinPath(parent_, formats::CheckpointDirectoryName(snapshot.state.step, identity_.epoch,
                                                           identity_.incarnation));
    // Never touch a complete checkpoint: its writer may have had it sealed.
    const std::string manifest = JoinPath(directory, formats::kManifestName);
    if (storage_.Read(manifest, UINT64_MAX).ok()) {
      return AlreadyExists("{} holds a complete checkpoint already", directory);
    }
    StatusOr<SavedCheckpoint> saved = WriteAll(snapshot, directory);
    if (saved.ok()) return saved;
    // What cannot be removed stays without a manifest: it is no checkpoint.
    storage_.RemoveTree(directory).IgnoreError();
    return WithContext(saved.status(), fmt::format("checkpoint of step {}", snapshot.state.step));
  }

  StatusOr<SavedCheckpoint> WriteAll(const Snapshot& snapshot, const std::string& directory) {
    RETURN_IF_ERROR(storage_.MakeDirectory(directory));
    formats::CheckpointManifest manifest = ManifestOf(snapshot.state);
    // Weights and step alone: equal runs write equal files.
    const std::map<std::string, std::string> metadata = {
        {"gp.step", fmt::format("{}", snapshot.state.step)},
        {"gp.linear", "out_features, in_features"}};
    ASSIGN_OR_RETURN(CheckpointFile model,
                     WriteTensors(storage_, directory, formats::kModelName, layout_,
                                  {{"", snapshot.parameters}}, metadata));
    Failpoint("checkpoint.after_model");
    ASSIGN_OR_RETURN(
        CheckpointFile optimizer,
        WriteTensors(storage_, directory, formats::kOptimizerName, layout_,
                     {{"exp_avg.", snapshot.first_moment}, {"exp_avg_sq.", snapshot.second_moment}},
                     metadata));
    ASSIGN_OR_RETURN(CheckpointFile tokenizer,
                     WriteText(storage_, directory, formats::kTokenizerName, identity_.tokenizer));
    Failpoint("checkpoint.before_manifest");
    manifest.files = {std::move(model), std::move(optimizer), std::move(tokenizer)};
    const std::string text = formats::FormatManifest(manifest);
    RETURN_IF_ERROR(storage_.WriteAtomically(JoinPath(directory, formats::kManifestName), text));
    Failpoint("checkpoint.after_manifest");
    return SavedCheckpoint{.step = snapshot.state.step,
                           .directory = directory,
                           .manifest_digest = formats::Sha256Hex(text),
                           .size_bytes = manifest.SizeBytes() + text.size(),
                           .validation_loss = snapshot.state.validation_loss,
                           .final = snapshot.state.final};
  }

  formats::CheckpointManifest ManifestOf(const CheckpointState& state) const {
    return {.run_id = identity_.run_id,
            .run_name = identity_.run_name,
            .incarnation = identity_.incarnation,
            .epoch = identity_.epoch,
            .step = state.step,
            .tokens = state.tokens,
            .validation_loss = state.validation_loss,
            .shape = identity_.shape,
            .data_fingerprint = identity_.data_fingerprint,
            .tokenizer_fingerprint = identity_.tokenizer_fingerprint,
            .record = state.record,
            .files = {}};
  }

  Storage& storage_;
  const std::string parent_;
  const CheckpointIdentity identity_;
  const ParameterLayout layout_;
  Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<Snapshot> job_ GUARDED_BY(mutex_);  // being written
  std::unique_ptr<Snapshot> spare_ GUARDED_BY(mutex_);
  std::optional<StatusOr<SavedCheckpoint>> result_ GUARDED_BY(mutex_);
  int64_t result_step_ GUARDED_BY(mutex_) = 0;  // of the job or the result
  bool closing_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

CheckpointWriter::CheckpointWriter(Storage& storage, std::string parent,
                                   CheckpointIdentity identity)
    : worker_(std::make_unique<Worker>(storage, std::move(parent), std::move(identity))) {}

CheckpointWriter::~CheckpointWriter() = default;

Status CheckpointWriter::Start(const CheckpointState& state) { return worker_->Start(state); }

bool CheckpointWriter::in_flight() const { return worker_->in_flight(); }

std::optional<StatusOr<SavedCheckpoint>> CheckpointWriter::Take() { return worker_->Take(); }

StatusOr<SavedCheckpoint> CheckpointWriter::Wait(std::chrono::nanoseconds timeout) {
  return worker_->Wait(timeout);
}

}  // namespace gp::engine
