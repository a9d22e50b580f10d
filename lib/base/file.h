// Files: whole-file reads, durable writes and directories, with errors that name the path.
// Functions may be called from any thread; a FileDescriptor belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp {

// The whole file. NotFound, PermissionDenied, or ResourceExhausted when it is larger than
// `size_bytes_max`.
StatusOr<std::string> ReadFile(const std::string& path,
                               uint64_t size_bytes_max = uint64_t{1} << 30);

// Replaces `path` by `data` so that a crash at any moment leaves the old or the new content:
// temporary file beside it, fsync, rename, fsync of the directory. On an error the old content
// stays and the temporary file is removed.
Status WriteFileAtomically(const std::string& path, std::string_view data, int mode = 0644);

// Like WriteFileAtomically, but returns AlreadyExists when `path` exists. If several writers try at
// the same time, exactly one succeeds.
Status WriteFileIfAbsent(const std::string& path, std::string_view data);

// mkdir -p. OK when it exists already. New directory entries are durable on return.
Status MakeDirectories(const std::string& path, int mode = 0755);

// mkdir: makes `path` but no parent of it, so nothing is made below a missing directory, such as a
// mount point. OK when it exists already. Durable on return.
Status MakeDirectory(const std::string& path, int mode = 0755);

// Makes the entries of `directory` durable: files that were created, renamed or removed in it.
Status SyncDirectory(const std::string& directory);

// Removes `path` and everything below it. OK when it does not exist. Symbolic links are removed,
// not followed.
Status RemoveTree(const std::string& path);

bool FileExists(const std::string& path);
StatusOr<uint64_t> FileSize(const std::string& path);
// Names in `directory` without "." and "..", sorted.
StatusOr<std::vector<std::string>> ListDirectory(const std::string& directory);

struct FileSystemSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  // that an ordinary user may still write
};

// The space of the file system that holds `path`.
StatusOr<FileSystemSpace> SpaceAt(const std::string& path);
StatusOr<uint64_t> FreeBytes(const std::string& path);

std::string JoinPath(std::string_view directory, std::string_view name);
// `path` made absolute against `base` unless it is absolute already; "." and ".." are folded.
std::string AbsolutePath(std::string_view path, std::string_view base);
std::string DirectoryOf(std::string_view path);
std::string BaseNameOf(std::string_view path);

// An owned file descriptor; closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void Close();

 private:
  int fd_ = -1;
};

// Writes all of `data`, resuming short writes.
Status WriteAll(int fd, std::string_view data, const std::string& path);

// CRC-32C (Castagnoli) of `data`, continuing from `crc` (0 to start).
uint32_t Crc32c(std::string_view data, uint32_t crc = 0);

}  // namespace gp
