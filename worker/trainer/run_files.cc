#include "worker/trainer/run_files.h"

#include "base/file.h"
#include "confinement/confinement.h"
#include "confinement/data_roots.h"
#include "runspec/named_file.h"
#include "worker/engine/backend/tuning_cache.h"

namespace gp::engine {
namespace {

// Only a folder that exists can be allowed. If it cannot be made, the trainer's log says that the
// choices are not kept.
void AllowTuning(confinement::Permissions& permissions) {
  const std::string folder = TuningCachePath(kTunedGemmsFolder);
  if (!folder.empty() && MakeDirectories(folder).ok()) permissions.writable.push_back(folder);
}

}  // namespace

Status RunFiles::Confine() const {
  if (run_directory.empty()) return OkStatus();
  RETURN_IF_ERROR(MakeDirectory(run_directory));
  confinement::Permissions permissions{
      .readable = data_roots, .writable = {run_directory}, .gpus = gpu};
  if (!checkpoint.empty()) permissions.readable.push_back(checkpoint);
  if (gpu) AllowTuning(permissions);
  return confinement::Confine(permissions);
}

Status RunFiles::ConfineToRunDirectory() const {
  RETURN_IF_ERROR(confinement::CheckHasNoLinks(storage_root, run_directory));
  RETURN_IF_ERROR(MakeDirectory(run_directory));
  return confinement::Confine({.readable = {}, .writable = {run_directory}});
}

Status RunFiles::Check(const runspec::RunSpec& spec) const {
  if (run_directory.empty()) return OkStatus();
  RETURN_IF_ERROR(confinement::CheckHasNoLinks(storage_root, run_directory));
  std::vector<std::string> of_runs = {run_directory};
  if (!checkpoint.empty()) {
    RETURN_IF_ERROR(confinement::CheckHasNoLinks(storage_root, checkpoint));
    of_runs.push_back(checkpoint);
  }
  const confinement::DataRoots roots(data_roots, of_runs);
  for (const runspec::NamedFile& file : runspec::FilesNamedBy(spec)) {
    RETURN_IF_ERROR(WithContext(roots.Check(file.path), file.key));
  }
  return OkStatus();
}

}  // namespace gp::engine
