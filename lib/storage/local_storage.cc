#include "storage/local_storage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/file.h"

namespace gp {
namespace {

// Adds advice to the error of a full disk.
Status WriteError(const Status& status) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return ResourceExhausted("{}; free space, or lower checkpoint.keep_last", Message(status));
}

constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kAlignment = 4096;  // O_DIRECT needs it for memory and offsets

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};

// Writes whole pieces to the disk without the page cache, if the file system can: a checkpoint is
// seldom read soon after, and the kernel's copy into new pages takes more processor time than
// everything else in a write. The last part of a file, and small files, go through the page cache.
class LocalWriter : public StorageWriter {
 public:
  LocalWriter(FileDescriptor file, std::string path)
      : file_(std::move(file)),
        path_(std::move(path)),
        piece_(static_cast<char*>(std::aligned_alloc(kAlignment, kPieceBytes))) {
    if (piece_ == nullptr) throw std::bad_alloc();
  }

  ~LocalWriter() override {
    if (!file_.valid()) return;
    file_.Close();
    unlink(path_.c_str());
  }

  Status Append(std::string_view data) override {
    while (!data.empty()) {
      const size_t count = std::min(data.size(), kPieceBytes - used_);
      std::memcpy(piece_.get() + used_, data.data(), count);
      used_ += count;
      data.remove_prefix(count);
      if (used_ == kPieceBytes) RETURN_IF_ERROR(WritePiece());
    }
    return OkStatus();
  }

  Status Close() override {
    SetDirect(false);
    RETURN_IF_ERROR(WritePiece());
    if (fsync(file_.get()) != 0) {
      return WriteError(ErrnoStatus(errno, "sync", path_));
    }
    // Network file systems report a failed write here.
    if (close(file_.Release()) != 0) return ErrnoStatus(errno, "close", path_);
    return OkStatus();
  }

 private:
  Status WritePiece() {
    if (used_ == kPieceBytes && !refused_) SetDirect(true);
    std::string_view data(piece_.get(), used_);
    while (!data.empty()) {
      const ssize_t written = write(file_.get(), data.data(), data.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EINVAL && !refused_) {
        // The file system refuses direct writes, or refuses the unaligned rest after a short write.
        refused_ = true;
        SetDirect(false);
        continue;
      }
      if (written < 0) return WriteError(ErrnoStatus(errno, "write", path_));
      data.remove_prefix(static_cast<size_t>(written));
    }
    used_ = 0;
    return OkStatus();
  }

  // Selects O_DIRECT for the writes that follow. A file system without it refuses the flag; then
  // writes stay as they were.
  void SetDirect(bool direct) const {
    const int flags = fcntl(file_.get(), F_GETFL);
    fcntl(file_.get(), F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
  }

  FileDescriptor file_;
  std::string path_;
  std::unique_ptr<char[], FreeMemory> piece_;
  size_t used_ = 0;  // bytes in the piece
  bool refused_ = false;
};

// A directory held open, so that a link put in its place cannot redirect later accesses.
class HeldDirectory {
 public:
  static StatusOr<HeldDirectory> Open(const std::string& path, LocalStorage::Links links) {
    if (links == LocalStorage::Links::kFollowed) return HeldDirectory({}, path);
    FileDescriptor file(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() && errno == ENOTDIR) {
      return FailedPrecondition("{} is a symbolic link or a file, expected a directory", path);
    }
    if (!file.valid()) return ErrnoStatus(errno, "open directory", path);
    std::string name = fmt::format("/proc/self/fd/{}", file.get());
    return HeldDirectory(std::move(file), std::move(name));
  }

  std::string path() const { return path_; }
  std::string File(const std::string& path) const { return JoinPath(path_, BaseNameOf(path)); }

 private:
  HeldDirectory(FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  FileDescriptor file_;
  std::string path_;
};

}  // namespace

Status LocalStorage::MakeDirectory(const std::string& directory) const {
  return gp::MakeDirectory(directory);
}

StatusOr<std::unique_ptr<StorageWriter>> LocalStorage::Create(const std::string& path) const {
  ASSIGN_OR_RETURN(FileDescriptor file, CreateFile(path));
  return WriterOf(std::move(file), path);
}

Status LocalStorage::Put(const std::string& path, std::string_view data) const {
  ASSIGN_OR_RETURN(const auto held, HeldDirectory::Open(DirectoryOf(path), links_));
  return WriteError(WriteFileAtomically(held.File(path), data));
}

Status LocalStorage::PutIfAbsent(const std::string& path, std::string_view data) const {
  ASSIGN_OR_RETURN(const auto held, HeldDirectory::Open(DirectoryOf(path), links_));
  return WriteError(WriteFileIfAbsent(held.File(path), data));
}

StatusOr<std::string> LocalStorage::Get(const std::string& path, uint64_t size_bytes_max) const {
  return ReadFile(path, size_bytes_max);
}

Status LocalStorage::Stream(const std::string& path,
                            const std::function<Status(std::string_view)>& consume) const {
  ASSIGN_OR_RETURN(const FileDescriptor file, OpenToRead(path));
  return StreamFile(file, path, consume);
}

StatusOr<uint64_t> LocalStorage::Size(const std::string& path) const {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (S_ISREG(info.st_mode)) return static_cast<uint64_t>(info.st_size);
  return InvalidArgument("{} is not a file", path);
}

StatusOr<std::vector<std::string>> LocalStorage::List(const std::string& directory) const {
  ASSIGN_OR_RETURN(const auto held, HeldDirectory::Open(directory, links_));
  return ListDirectory(held.path());
}

Status LocalStorage::Delete(const std::string& path) const {
  const auto held = HeldDirectory::Open(DirectoryOf(path), links_);
  if (held.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(held.status());
  return RemoveTree(held->File(path));
}

StatusOr<uint64_t> LocalStorage::FreeBytes(const std::string& path) const {
  return gp::FreeBytes(path);
}

StatusOr<FileDescriptor> CreateFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return WriteError(ErrnoStatus(errno, "create", path));
  RETURN_IF_ERROR(SyncDirectory(DirectoryOf(path)));
  return file;
}

std::unique_ptr<StorageWriter> WriterOf(FileDescriptor file, const std::string& path) {
  return std::make_unique<LocalWriter>(std::move(file), path);
}

StatusOr<FileDescriptor> OpenToRead(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  return file;
}

Status StreamFile(const FileDescriptor& file, const std::string& path,
                  const std::function<Status(std::string_view)>& consume) {
  std::vector<char> buffer(1 << 20);
  while (true) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) return OkStatus();
    RETURN_IF_ERROR(consume({buffer.data(), static_cast<size_t>(got)}));
  }
}

}  // namespace gp
