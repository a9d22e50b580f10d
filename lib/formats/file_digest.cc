#include "formats/file_digest.h"

#include <optional>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "formats/sha256.h"
#include "storage/local_storage.h"

namespace gp::formats {

struct FileDigest::State {
  std::optional<Sha256> sha256;
  XXH3_state_t xxh3;
};

std::string_view DigestName(DigestKind kind) {
  return kind == DigestKind::kSha256 ? "sha256" : "xxh3_128";
}

FileDigest::FileDigest(DigestKind kind) : state_(std::make_unique<State>()) {
  if (kind == DigestKind::kSha256) {
    state_->sha256.emplace();
  } else {
    GP_CHECK(XXH3_128bits_reset(&state_->xxh3) == XXH_OK);
  }
}
FileDigest::~FileDigest() = default;
FileDigest::FileDigest(FileDigest&&) noexcept = default;
FileDigest& FileDigest::operator=(FileDigest&&) noexcept = default;

void FileDigest::Update(std::string_view data) {
  if (state_->sha256) return state_->sha256->Update(data);
  GP_CHECK(XXH3_128bits_update(&state_->xxh3, data.data(), data.size()) == XXH_OK);
}

std::string FileDigest::Finish() {
  if (state_->sha256) return state_->sha256->Finish();
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

StatusOr<std::string> DigestOfFile(const Storage& storage, const std::string& path, DigestKind kind,
                                   const std::stop_token& stop) {
  FileDigest digest(kind);
  const auto check_stop = [&] {
    return stop.stop_requested() ? Cancelled("stopped reading {}", path) : OkStatus();
  };
  RETURN_IF_ERROR(storage.Stream(path, [&](std::string_view piece) {
    digest.Update(piece);
    return check_stop();
  }));
  RETURN_IF_ERROR(check_stop());
  return digest.Finish();
}

StatusOr<std::string> DigestOfFile(const std::string& path, DigestKind kind,
                                   const std::stop_token& stop) {
  return DigestOfFile(LocalStorage(), path, kind, stop);
}

}  // namespace gp::formats
