// Complete checkpoints in a storage: reading and verifying one, and finding the newest below a
// directory. Used by gpctl and the sampler too, so it needs no tensor library. Functions may be
// called from any thread.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "storage/storage.h"

namespace gp::formats {

// "step-00000250-e3-<incarnation>"
std::string CheckpointDirectoryName(int64_t step, uint64_t epoch, const std::string& incarnation);

// The manifest of the checkpoint in `directory`. NotFound when there is none. DataLoss when it is
// damaged, or when `expected_digest` is not empty and is not the SHA-256 of manifest.json in
// hexadecimal; a catalogue says then that there was one, so a directory without it is damaged, too.
StatusOr<CheckpointManifest> ReadManifest(const Storage& storage, const std::string& directory,
                                          const std::string& expected_digest = "");

// Like the function above, and also checks that the list is complete and that every listed file
// exists with the size and digest in the manifest. DataLoss names the file; any other error means
// that it could not be read, which says nothing about the checkpoint. Cancelled once `stop` is
// requested.
StatusOr<CheckpointManifest> VerifyDigests(const Storage& storage, const std::string& directory,
                                           const std::string& expected_digest = "",
                                           const std::stop_token& stop = {});

// The manifest, after checking the size and digest of the files `names`.
StatusOr<CheckpointManifest> VerifyDigestsOf(const Storage& storage, const std::string& directory,
                                             const std::vector<std::string>& names);

// The same as VerifyDigests, for a directory in a mounted file system. Also checks that the
// tokenizer file describes a tokenizer, and that the safetensors files are well formed and hold
// finite numbers. DataLoss names the file.
StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& directory,
                                              const std::string& expected_digest = "");

// One directory that has a manifest, readable or not.
struct FoundCheckpoint {
  std::string directory;
  StatusOr<CheckpointManifest> manifest;
};

// The checkpoints below `parent`, the newest first: by step, then epoch, taken from the directory's
// name when the manifest cannot be read. Empty when `parent` does not exist. Skips quarantined
// ones, also those that an older version renamed to DIRECTORY.damaged, and directories without a
// manifest.
StatusOr<std::vector<FoundCheckpoint>> FindCheckpoints(const Storage& storage,
                                                       const std::string& parent);

// A checkpoint in quarantine keeps its directory, but searches skip it: a mark beside it, a file
// named DIRECTORY.quarantined, holds the reason. Under the service the catalogue decides what is in
// quarantine, and the marks follow it.
std::string QuarantineMark(const std::string& directory);
bool IsQuarantineMark(std::string_view name);
// The path to which an older version of gp moved a damaged checkpoint.
std::string RenamedDamaged(const std::string& directory);
// Makes the mark, durably. OK if it exists; its reason then stays.
Status Quarantine(const Storage& storage, const std::string& directory, const std::string& reason);

// Deletes the manifest first, so that an interrupted deletion leaves nothing that counts as a
// checkpoint.
Status DeleteCheckpoint(const Storage& storage, const std::string& directory);

// The directory, below `parent`, of the complete checkpoint with the highest step (then epoch);
// nullopt if there is none or `parent` does not exist. Directories without a manifest were never
// complete and are skipped; an unreadable manifest is an error that names it, because continuing
// without it would silently lose steps.
StatusOr<std::optional<std::string>> FindNewestCheckpoint(const Storage& storage,
                                                          const std::string& parent);

// `directory` itself if it is a checkpoint; otherwise the newest checkpoint in it, if it is a run's
// directory or a directory of checkpoints. NotFound says what was expected.
StatusOr<std::string> FindCheckpointIn(const Storage& storage, const std::string& directory);

}  // namespace gp::formats
