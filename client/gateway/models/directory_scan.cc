#include "client/gateway/models/directory_scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/file.h"
#include "base/local_path.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"

namespace gp::gateway {
namespace {

int64_t ModifiedAt(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? static_cast<int64_t>(found.st_mtim.tv_sec) : 0;
}

ServedCheckpoint Served(const std::string& directory, const formats::CheckpointManifest& manifest) {
  return {.step = manifest.step,
          .directory = directory,
          .validation_loss = manifest.validation_loss,
          .sealed_at = ModifiedAt(JoinPath(directory, formats::kManifestName))};
}

std::string Absolute(const std::string& path) {
  char current[PATH_MAX];
  return getcwd(current, sizeof current) == nullptr ? path : AbsolutePath(path, current);
}

// The checkpoints of a directory, newest first: the directory itself if it is one, otherwise those
// in it or in its "checkpoints". Includes checkpoints whose manifest cannot be read.
StatusOr<std::vector<formats::FoundCheckpoint>> FindAll(const std::string& directory) {
  if (FileExists(JoinPath(directory, formats::kManifestName))) {
    return std::vector<formats::FoundCheckpoint>{
        {directory, formats::ReadManifest(LocalStorage(), directory)}};
  }
  const std::string below = JoinPath(directory, "checkpoints");
  return formats::FindCheckpoints(LocalStorage(), FileExists(below) ? below : directory);
}

}  // namespace

StatusOr<NamedDirectory> ParseNamedDirectory(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) {
    return InvalidArgument("'{}': expected NAME=DIR", text);
  }
  const std::string directory(text.substr(equals + 1));
  RETURN_IF_ERROR(CheckLocalPath(directory));
  return NamedDirectory{std::string(text.substr(0, equals)), Absolute(directory)};
}

Status CheckDirectory(const NamedDirectory& named) {
  if (const auto found = FindAll(named.directory); found.ok() && !found->empty()) {
    for (const formats::FoundCheckpoint& checkpoint : *found) {
      if (checkpoint.manifest.ok()) return OkStatus();
    }
    return WithContext(found->front().manifest.status(),
                       fmt::format("{}={}", named.name, named.directory));
  }
  const Status missing = formats::FindCheckpointIn(LocalStorage(), named.directory).status();
  return Status(
      missing.code(),
      fmt::format(
          "{}={}. With --coordinator, the gateway serves runs as soon as they have a checkpoint",
          named.name, Message(missing)));
}

ServedRun ScanDirectory(const NamedDirectory& named) {
  ServedRun run{.id = named.name, .name = named.name};
  const auto found = FindAll(named.directory);
  if (!found.ok()) return run;
  for (const formats::FoundCheckpoint& checkpoint : *found) {
    if (!checkpoint.manifest.ok()) continue;
    const bool known =
        !run.checkpoints.empty() && run.checkpoints.back().step == checkpoint.manifest->step;
    if (!known) run.checkpoints.push_back(Served(checkpoint.directory, *checkpoint.manifest));
  }
  return run;
}

}  // namespace gp::gateway
