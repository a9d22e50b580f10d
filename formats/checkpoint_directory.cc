#include "formats/checkpoint_directory.h"

#include <tuple>

#include "base/file.h"
#include "formats/safetensors.h"
#include "formats/sha256.h"

namespace gp::formats {
namespace {

constexpr uint64_t kManifestBytesMax = 16 << 20;

Status VerifyFile(const std::string& directory, const CheckpointFile& file) {
  const std::string path = JoinPath(directory, file.name);
  const auto size = FileSize(path);
  if (!size.ok()) {
    return DataLoss("{} is missing ({}); the checkpoint is damaged", path, Message(size.status()));
  }
  if (*size != file.size_bytes) {
    return DataLoss("{} has {} bytes, its manifest says {}; the checkpoint is damaged", path, *size,
                    file.size_bytes);
  }
  ASSIGN_OR_RETURN(const std::string digest, Sha256OfFile(path));
  if (digest != file.sha256) {
    return DataLoss("{} has the sha256 {}, its manifest says {}; the checkpoint is damaged", path,
                    digest, file.sha256);
  }
  if (!file.name.ends_with(".safetensors")) return OkStatus();
  return SafetensorsFile::Open(path).status();
}

}  // namespace

std::string CheckpointDirectoryName(int64_t step, uint64_t epoch, const std::string& incarnation) {
  return fmt::format("step-{:08}-e{}-{}", step, epoch, incarnation);
}

StatusOr<CheckpointManifest> ReadManifest(const std::string& directory,
                                          const std::string& expected_digest) {
  const std::string path = JoinPath(directory, kManifestName);
  const auto text = ReadFile(path, kManifestBytesMax);
  if (text.status().code() == StatusCode::kNotFound) {
    return NotFound("{} holds no complete checkpoint: manifest.json is missing", directory);
  }
  RETURN_IF_ERROR(text.status());
  if (!expected_digest.empty() && Sha256Hex(*text) != expected_digest) {
    return DataLoss("{} has the sha256 {}, the catalogue says {}; it is not the sealed checkpoint",
                    path, Sha256Hex(*text), expected_digest);
  }
  return ParseManifest(*text, path);
}

StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& directory,
                                              const std::string& expected_digest) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest, ReadManifest(directory, expected_digest));
  for (const CheckpointFile& file : manifest.files) RETURN_IF_ERROR(VerifyFile(directory, file));
  return manifest;
}

StatusOr<std::optional<std::string>> FindNewestCheckpoint(const std::string& parent) {
  const auto names = ListDirectory(parent);
  if (names.status().code() == StatusCode::kNotFound) return std::nullopt;
  RETURN_IF_ERROR(names.status());
  std::optional<std::string> newest;
  std::tuple<int64_t, uint64_t> newest_at;
  for (const std::string& name : *names) {
    const auto manifest = ReadManifest(JoinPath(parent, name));
    if (manifest.status().code() == StatusCode::kNotFound) continue;
    if (!manifest.ok()) {
      return WithContext(manifest.status(),
                         "a checkpoint is damaged; remove its directory to go on without it");
    }
    const std::tuple at(manifest->step, manifest->epoch);
    if (newest && at < newest_at) continue;
    newest = JoinPath(parent, name);
    newest_at = at;
  }
  return newest;
}

}  // namespace gp::formats
