#include "worker/engine/checkpoint/local_storage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/file.h"

namespace gp::engine {
namespace {

// A full disk is the one failure with advice of its own.
Status WriteError(const Status& status, const std::string& path, size_t size_bytes) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  const auto free = gp::FreeBytes(DirectoryOf(path));
  return ResourceExhausted(
      "{} ({} bytes to write, {} free); make room, or lower checkpoint.keep_last", Message(status),
      size_bytes, free.ok() ? *free : 0);
}

class LocalWriter : public StorageWriter {
 public:
  LocalWriter(FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  ~LocalWriter() override {
    if (!file_.valid()) return;
    file_.Close();
    unlink(path_.c_str());
  }

  Status Append(std::string_view data) override {
    return WriteError(WriteAll(file_.get(), data, path_), path_, data.size());
  }

  Status Close() override {
    if (fsync(file_.get()) != 0) {
      return WriteError(ErrnoStatus(errno, "sync", path_), path_, 0);
    }
    // Network file systems report a failed write here.
    if (close(file_.Release()) != 0) return ErrnoStatus(errno, "close", path_);
    return SyncDirectory(DirectoryOf(path_));
  }

 private:
  FileDescriptor file_;
  std::string path_;
};

}  // namespace

Status LocalStorage::MakeDirectory(const std::string& directory) {
  return MakeDirectories(directory);
}

StatusOr<std::unique_ptr<StorageWriter>> LocalStorage::Create(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return WriteError(ErrnoStatus(errno, "create", path), path, 0);
  return std::make_unique<LocalWriter>(std::move(file), path);
}

Status LocalStorage::WriteAtomically(const std::string& path, std::string_view data) {
  return WriteError(WriteFileAtomically(path, data), path, data.size());
}

StatusOr<std::string> LocalStorage::Read(const std::string& path, uint64_t size_bytes_max) {
  return ReadFile(path, size_bytes_max);
}

Status LocalStorage::Stream(const std::string& path,
                            const std::function<Status(std::string_view)>& consume) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  std::vector<char> buffer(1 << 20);
  while (true) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) return OkStatus();
    RETURN_IF_ERROR(consume({buffer.data(), static_cast<size_t>(got)}));
  }
}

Status LocalStorage::RemoveTree(const std::string& path) { return gp::RemoveTree(path); }

StatusOr<uint64_t> LocalStorage::FreeBytes(const std::string& path) { return gp::FreeBytes(path); }

}  // namespace gp::engine
