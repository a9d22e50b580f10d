// Complete checkpoints on a file system: reading and verifying one, and finding the newest below a
// directory. Used by gpctl and the sampler too, so it needs no tensor library. Functions may be
// called from any thread.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"

namespace gp::formats {

// "step-00000250-e3-<incarnation>"
std::string CheckpointDirectoryName(int64_t step, uint64_t epoch, const std::string& incarnation);

// The manifest of the checkpoint in `directory`. NotFound when it has none; DataLoss when it is
// damaged or, with a non-empty `expected_digest` (sha256 of manifest.json, hex), another one.
StatusOr<CheckpointManifest> ReadManifest(const std::string& directory,
                                          const std::string& expected_digest = "");

// Also checks that the list is complete, and that every file on it is there with the size and
// digest that the manifest tells. DataLoss names the file; another error says that it could not be
// read, which tells nothing about the checkpoint. Cancelled once `stop` is requested.
StatusOr<CheckpointManifest> VerifyDigests(const std::string& directory,
                                           const std::string& expected_digest = "",
                                           const std::stop_token& stop = {});

// The manifest, once those of its files are there with the size and digest that it tells.
StatusOr<CheckpointManifest> VerifyDigestsOf(const std::string& directory,
                                             const std::vector<std::string>& names);

// Also checks that the tokenizer is one, and that the safetensors files are well formed and hold
// finite numbers. DataLoss names the file.
StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& directory,
                                              const std::string& expected_digest = "");

// One directory that has a manifest, readable or not.
struct FoundCheckpoint {
  std::string directory;
  StatusOr<CheckpointManifest> manifest;
};

// Those below `parent`, the newest first: by step, then epoch, which the name of the directory says
// when the manifest cannot be read. Empty when `parent` does not exist. What was set aside and
// directories without a manifest are passed over.
StatusOr<std::vector<FoundCheckpoint>> FindCheckpoints(const std::string& parent);

// Renames the directory of a damaged checkpoint, durably, so that nobody finds it any more. It
// keeps its files: DIRECTORY.damaged.
Status SetAside(const std::string& directory);
// DIRECTORY.damaged: what SetAside makes of the directory's name, and BringBack undoes, durably.
std::string DamagedName(const std::string& directory);
Status BringBack(const std::string& directory);

// The directory, below `parent`, of the complete checkpoint with the highest step (then epoch);
// nothing when there is none or `parent` does not exist. Directories without a manifest were never
// complete and are passed over; one whose manifest cannot be read is an error that names it,
// because going on without it would silently lose steps.
StatusOr<std::optional<std::string>> FindNewestCheckpoint(const std::string& parent);

// The checkpoint that `directory` is, or the newest one that it holds: the directory of a run, or
// the one of its checkpoints. NotFound says what was expected.
StatusOr<std::string> FindCheckpointIn(const std::string& directory);

}  // namespace gp::formats
