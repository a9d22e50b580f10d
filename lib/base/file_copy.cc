#include "base/file_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace gp {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

}  // namespace

StatusOr<uint64_t> CopyFile(const std::string& from, const std::string& to, int mode) {
  const FileDescriptor source(open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source.valid()) return ErrnoStatus(errno, "open", from);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const FileDescriptor target(open(to.c_str(), flags, mode));
  if (!target.valid()) return ErrnoStatus(errno, "make", to);
  if (fchmod(target.get(), static_cast<mode_t>(mode)) != 0) return ErrnoStatus(errno, "chmod", to);
  std::vector<char> chunk(kChunkBytes);
  uint64_t copied = 0;
  while (true) {
    const ssize_t count = read(source.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read", from);
    if (count == 0) break;
    RETURN_IF_ERROR(WriteAll(target.get(), {chunk.data(), static_cast<size_t>(count)}, to));
    copied += static_cast<uint64_t>(count);
  }
  if (fsync(target.get()) != 0) return ErrnoStatus(errno, "sync", to);
  return copied;
}

}  // namespace gp
