#include "worker/trainer/checkpoint_visibility.h"

#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "base/machine/progress.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

struct GroupVisibility {
  bool seen_by_any = false;
  bool missed_by_any = false;
};

GroupVisibility ShareVisibility(bool seen, Communicator& communicator) {
  double either[2] = {seen ? 1.0 : 0.0, seen ? 0.0 : 1.0};
  communicator.AllReduceMax(either);
  return {either[0] > 0, either[1] > 0};
}

}  // namespace

std::optional<std::string> MissingOfCheckpoint(const contract::ResumePoint& resume) {
  const auto manifest =
      formats::ReadManifest(LocalStorage(), resume.directory, resume.manifest_digest);
  if (!manifest.ok()) return Message(manifest.status());
  for (const formats::CheckpointFile& file : manifest->files) {
    const std::string path = JoinPath(resume.directory, file.name);
    const auto size_bytes = FileSize(path);
    if (!size_bytes.ok()) return Message(size_bytes.status());
    if (*size_bytes == file.size_bytes) continue;
    return fmt::format("{} has {} of {} bytes", path, *size_bytes, file.size_bytes);
  }
  return std::nullopt;
}

void AwaitCheckpointVisible(const std::string& directory,
                            const std::function<std::optional<std::string>()>& find_missing,
                            Communicator& communicator, const VisibilityTimeout& timeout) {
  const progress::Awaiting waiting(progress::Wait::kStorage);
  std::optional<std::string> missing;
  for (int checks = 1;; ++checks) {
    missing = find_missing();
    const GroupVisibility visibility = ShareVisibility(!missing, communicator);
    if (!visibility.seen_by_any || !visibility.missed_by_any) return;
    if (checks >= timeout.checks) break;
    if (missing && checks == 1) {
      LogInfo("waiting for the storage to show a checkpoint", {{"missing", *missing}});
    }
    std::this_thread::sleep_for(timeout.pause);
  }
  if (!missing) return;  // the ranks that miss something throw, with their reasons
  throw TrainingError(
      contract::ExitCause::kStorage,
      fmt::format("checkpoint {} is incomplete here, but another rank sees it complete: {}; either "
                  "the storage "
                  "lags behind, or the run's directory is not the same storage on every node",
                  directory, *missing));
}

}  // namespace gp::engine
