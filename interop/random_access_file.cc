#include "interop/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace gp::interop {

StatusOr<RandomAccessFile> RandomAccessFile::Open(const std::string& path) {
  RandomAccessFile opened;
  opened.path_ = path;
  // Without O_NONBLOCK a pipe of that name would be waited for.
  opened.file_ = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.file_.valid()) return ErrnoStatus(errno, "open", path);
  struct stat info {};
  if (fstat(opened.file_.get(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{} is not a regular file", path);
  opened.size_bytes_ = static_cast<uint64_t>(info.st_size);
  return opened;
}

Status RandomAccessFile::Read(uint64_t offset, std::span<char> bytes) const {
  const uint64_t end = offset + bytes.size();
  while (!bytes.empty()) {
    const ssize_t got =
        pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(end - bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path_);
    if (got == 0) {
      return DataLoss("{}: the file ends at byte {}, expected data up to byte {}", path_,
                      end - bytes.size(), end);
    }
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return OkStatus();
}

}  // namespace gp::interop
