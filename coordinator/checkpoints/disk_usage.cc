#include "coordinator/checkpoints/disk_usage.h"

#include "base/file.h"

namespace gp::coordinator {
namespace {

constexpr int kDepthMax = 16;  // a run's own directories have three levels

uint64_t BytesAt(const Storage& storage, const std::string& path, int depth) {
  const auto size = storage.Size(path);
  if (size.ok()) return *size;
  const bool is_directory = size.status().code() == StatusCode::kInvalidArgument;
  if (!is_directory || depth == 0) return 0;
  const auto names = storage.List(path);
  if (!names.ok()) return 0;
  uint64_t bytes = 0;
  for (const std::string& name : *names) bytes += BytesAt(storage, JoinPath(path, name), depth - 1);
  return bytes;
}

}  // namespace

uint64_t BytesAt(const Storage& storage, const std::string& path) {
  return BytesAt(storage, path, kDepthMax);
}

RunSize SizeOf(const Storage& storage, const Run& run) {
  RunSize size;
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (const SealedCheckpoint& checkpoint : *sealed) {
      if (checkpoint.retired) continue;
      size.checkpoint_bytes += BytesAt(storage, checkpoint.directory);
      ++size.checkpoints;
      if (checkpoint.pinned) ++size.pinned;
    }
  }
  const uint64_t total = BytesAt(storage, run.submission->run_directory);
  // The run may write while its files are measured.
  size.other_bytes = total > size.checkpoint_bytes ? total - size.checkpoint_bytes : 0;
  return size;
}

RunSize SizeOf(const Storage& storage, const DeletedRun& run) {
  RunSize size;
  for (const std::string& directory : run.kept_checkpoints) {
    size.checkpoint_bytes += BytesAt(storage, directory);
    ++size.checkpoints;
  }
  return size;
}

}  // namespace gp::coordinator
