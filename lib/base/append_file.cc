#include "base/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gp {

StatusOr<AppendFile> AppendFile::Open(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  ASSIGN_OR_RETURN(const uint64_t size_bytes, FileSize(path));
  return AppendFile(path, std::move(file), size_bytes);
}

Status AppendFile::Append(std::string_view record) {
  if (torn_) RETURN_IF_ERROR(CutTo(size_bytes_));
  if (lseek(file_.get(), static_cast<off_t>(size_bytes_), SEEK_SET) < 0) {
    return ErrnoStatus(errno, "seek in", path_);
  }
  const Status written = WriteAll(file_.get(), record, path_);
  if (!written.ok()) {
    RETURN_IF_ERROR(CutTo(size_bytes_));
    return written;
  }
  size_bytes_ += record.size();
  return OkStatus();
}

Status AppendFile::Sync() {
  if (fdatasync(file_.get()) != 0) return ErrnoStatus(errno, "sync", path_);
  return OkStatus();
}

Status AppendFile::CutTo(uint64_t size_bytes) {
  size_bytes_ = size_bytes;
  torn_ = ftruncate(file_.get(), static_cast<off_t>(size_bytes)) != 0;
  return torn_ ? ErrnoStatus(errno, "undo the failed write to", path_) : OkStatus();
}

}  // namespace gp
