// The digest of a file that is read or written in pieces. SHA-256 for files that other programs
// check or whose digest is recorded elsewhere; XXH3 with 128 bits, ten times as fast, against
// accidental damage of large files that only gp reads. A FileDigest belongs to one thread at a
// time.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/storage.h"

namespace gp::formats {

enum class DigestKind { kSha256, kXxh3 };

// "sha256", "xxh3_128".
std::string_view DigestName(DigestKind kind);

class FileDigest {
 public:
  explicit FileDigest(DigestKind kind);
  ~FileDigest();
  FileDigest(FileDigest&&) noexcept;
  FileDigest& operator=(FileDigest&&) noexcept;

  void Update(std::string_view data);
  // The digest in lower-case hexadecimal digits. Update must not be called afterwards.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads the file in pieces; Cancelled once `stop` is requested.
StatusOr<std::string> DigestOfFile(const Storage& storage, const std::string& path, DigestKind kind,
                                   const std::stop_token& stop = {});
// The same for a file in a mounted file system.
StatusOr<std::string> DigestOfFile(const std::string& path, DigestKind kind,
                                   const std::stop_token& stop = {});

}  // namespace gp::formats
