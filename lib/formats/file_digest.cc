#include "formats/file_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "base/file.h"
#include "formats/sha256.h"

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

StatusOr<std::string> DigestOfFile(const std::string& path, DigestKind kind,
                                   const std::stop_token& stop) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  FileDigest digest(kind);
  std::vector<char> buffer(1 << 20);
  while (true) {
    if (stop.stop_requested()) return Cancelled("stopped reading {}", path);
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) return digest.Finish();
    digest.Update({buffer.data(), static_cast<size_t>(got)});
  }
}

}  // namespace gp::formats
