#include "coordinator/checkpoints/storage_root.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/random_id.h"
#include "base/text/counted_noun.h"
#include "formats/checkpoint_directory.h"

namespace gp::coordinator {
namespace {

// Below this not even a tiny checkpoint fits.
constexpr uint64_t kFreeBytesMin = 16 << 20;
constexpr char kProbeName[] = ".gp-probe";
constexpr char kWayOut[] =
    "mount its file system, or start once with --adopt if this is the right directory";

// The identity in the probe file; empty if there is none.
StatusOr<std::string> ReadIdentity(const Storage& storage, const std::string& root) {
  const std::string path = JoinPath(root, kProbeName);
  const StatusOr<std::string> identity = storage.Get(path, 4096);
  if (identity.status().code() == StatusCode::kNotFound) return std::string();
  RETURN_IF_ERROR(WithContext(identity.status(), "storage root"));
  if (!identity->empty()) return identity;
  return DataLoss("{} is empty; remove it, then start the coordinator and the agents again", path);
}

// At least `needed` of the checkpoints must exist.
Status CheckCatalogue(const Storage& storage, const std::string& root,
                      const std::vector<std::string>& checkpoints, size_t needed) {
  const auto is_there = [&storage](const std::string& checkpoint) {
    return Exists(storage, JoinPath(checkpoint, formats::kManifestName));
  };
  const auto there =
      static_cast<size_t>(std::count_if(checkpoints.begin(), checkpoints.end(), is_there));
  if (there >= needed) return OkStatus();
  const auto missing = std::find_if_not(checkpoints.begin(), checkpoints.end(), is_there);
  return FailedPrecondition(
      "storage root {} has {} of the {} checkpoints in the catalogue; {} is missing: {}", root,
      there, checkpoints.size(), missing == checkpoints.end() ? "some" : *missing, kWayOut);
}

// For a root without a probe file when the catalogue has no checkpoints that could prove that it is
// the known storage: an error if the known storage has unfinished runs.
Status CheckNoRunGoesOn(const std::string& root, const ExpectedStorage& expected) {
  if (expected.identity.empty() || expected.live_runs == 0) return OkStatus();
  return FailedPrecondition(
      "storage root {} has no {}, but the catalogue has {} that must continue: {}", root,
      kProbeName, CountedNoun(static_cast<int64_t>(expected.live_runs), "run"), kWayOut);
}

// `found`: the identity in the probe file.
Status CheckExpected(const Storage& storage, const std::string& root, const std::string& found,
                     const ExpectedStorage& expected) {
  if (expected.adopt || (!found.empty() && found == expected.identity)) return OkStatus();
  if (found.empty() && expected.checkpoints.empty()) return CheckNoRunGoesOn(root, expected);
  if (found.empty()) {
    return CheckCatalogue(storage, root, expected.checkpoints, expected.checkpoints.size());
  }
  // An older version did not record an identity. One existing checkpoint is enough, because a user
  // may have deleted others.
  if (expected.identity.empty()) {
    return CheckCatalogue(storage, root, expected.checkpoints,
                          expected.checkpoints.empty() ? 0 : 1);
  }
  return FailedPrecondition(
      "storage root {} is not the storage of this catalogue: its {} says {}, expected {}; {}", root,
      kProbeName, found, expected.identity, kWayOut);
}

}  // namespace

std::vector<std::string> CatalogueOf(const Cluster& cluster) {
  std::vector<std::string> directories;
  cluster.runs.ForEach([&](const RunId&, const std::shared_ptr<const Run>& run) {
    for (const SealedCheckpoint& checkpoint : run->checkpoints) {
      if (!checkpoint.retired) directories.push_back(checkpoint.directory);
    }
  });
  return directories;
}

std::string StorageRootPath(const std::string& path) {
  std::string absolute = AbsolutePath(path, std::filesystem::current_path().string());
  if (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

StatusOr<StorageRoot> StorageRoot::Open(const Storage& storage, const std::string& path,
                                        const ExpectedStorage& expected) {
  const std::string root = StorageRootPath(path);
  ASSIGN_OR_RETURN(std::string identity, ReadIdentity(storage, root));
  RETURN_IF_ERROR(CheckExpected(storage, root, identity, expected));
  RETURN_IF_ERROR(WithContext(MakeDirectories(JoinPath(root, "runs")), "storage root"));
  if (!identity.empty()) return StorageRoot(storage, root, std::move(identity));
  // Keep the old identity only if the checkpoints prove that this is the known storage. Otherwise
  // two storages would have one identity, and mounting the other one later would not be noticed.
  const bool proven = !expected.adopt && !expected.checkpoints.empty();
  identity = proven && !expected.identity.empty() ? expected.identity : RandomHex(16);
  RETURN_IF_ERROR(
      WithContext(storage.PutIfAbsent(JoinPath(root, kProbeName), identity), "storage root"));
  LogInfo("wrote a new probe file to the storage root", {{"path", root}, {"identity", identity}});
  return StorageRoot(storage, root, std::move(identity));
}

std::string StorageRoot::RunDirectory(const RunId& run) const {
  return JoinPath(JoinPath(path_, "runs"), run.value());
}

Status StorageRoot::CheckWritable() const {
  ASSIGN_OR_RETURN(const std::string found, ReadIdentity(storage_, path_));
  if (found != identity_) {
    return FailedPrecondition("storage root {} is unavailable: {} is {}; mount it again", path_,
                              JoinPath(path_, kProbeName),
                              found.empty() ? "missing" : "from another storage root");
  }
  const std::string runs = JoinPath(path_, "runs");
  if (access(runs.c_str(), W_OK) != 0) {
    return FailedPrecondition(
        "the coordinator cannot write to {}; runs could not save checkpoints; give its user write "
        "permission",
        runs);
  }
  ASSIGN_OR_RETURN(const uint64_t free_bytes, storage_.FreeBytes(runs));
  if (free_bytes >= kFreeBytesMin) return OkStatus();
  return ResourceExhausted(
      "only {} bytes are free on {}; runs need space for checkpoints; free some", free_bytes, runs);
}

}  // namespace gp::coordinator
