// A checkpoint's manifest.json, which makes a checkpoint complete (docs/formats/checkpoint.md).
// Written last, so a directory without one is not a checkpoint. Values and pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/file_digest.h"
#include "formats/training_record.h"
#include "plan/model_shape.h"

namespace gp::formats {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr uint64_t kManifestBytesMax = 16 << 20;
inline constexpr char kModelName[] = "model.safetensors";
inline constexpr char kOptimizerName[] = "optimizer.safetensors";
inline constexpr char kTokenizerName[] = "tokenizer.json";

struct CheckpointFile {
  std::string name;  // inside the checkpoint's directory
  uint64_t size_bytes = 0;
  std::string digest;  // hex
  DigestKind digest_kind = DigestKind::kSha256;

  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointManifest {
  std::string run_id;
  std::string run_name;
  std::string incarnation;  // of the process that wrote it
  uint64_t epoch = 0;
  int64_t step = 0;    // committed steps
  int64_t tokens = 0;  // trained on so far
  std::optional<double> validation_loss;
  runspec::ModelShape shape;
  std::string data_fingerprint;
  std::string tokenizer_fingerprint;
  TrainingRecord record;
  std::vector<CheckpointFile> files;

  bool operator==(const CheckpointManifest&) const = default;

  uint64_t SizeBytes() const;  // of all files, without the manifest
};

// The metadata of model.safetensors after `step` steps: the step, and how matrices are stored. No
// times or names, so that equal runs write equal files.
std::map<std::string, std::string> WeightsMetadata(int64_t step);

std::string FormatManifest(const CheckpointManifest& manifest);
// DataLoss names `path` and the key that is missing or of the wrong type. FailedPrecondition: the
// manifest has another version.
StatusOr<CheckpointManifest> ParseManifest(std::string_view text, const std::string& path);

}  // namespace gp::formats
