#include "formats/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/read_at.h"

namespace gp::formats {

StatusOr<RandomAccessFile> RandomAccessFile::Open(const std::string& path) {
  RandomAccessFile opened;
  opened.path_ = path;
  // Without O_NONBLOCK, open waits for the writer of a pipe.
  opened.file_ = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.file_.valid()) return ErrnoStatus(errno, "open", path);
  struct stat info {};
  if (fstat(opened.file_.get(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{} is not a regular file", path);
  opened.size_bytes_ = static_cast<uint64_t>(info.st_size);
  return opened;
}

Status RandomAccessFile::Read(uint64_t offset, std::span<char> bytes) const {
  ASSIGN_OR_RETURN(const size_t got, ReadAt(file_.get(), offset, bytes, path_));
  if (got == bytes.size()) return OkStatus();
  return DataLoss(
      "{}: the file ends at byte {}, expected data up to byte {}: it was cut short while in use; "
      "restore the whole file; to change a file in use, replace it instead of rewriting it",
      path_, offset + got, offset + bytes.size());
}

void RandomAccessFile::Expect(uint64_t offset, uint64_t count) const {
  posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(count),
                POSIX_FADV_WILLNEED);
}

}  // namespace gp::formats
