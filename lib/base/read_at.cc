#include "base/read_at.h"

#include <unistd.h>

#include <cerrno>

namespace gp {

StatusOr<size_t> ReadAt(int fd, uint64_t offset, std::span<char> to, const std::string& path) {
  size_t filled = 0;
  while (filled < to.size()) {
    const ssize_t got =
        pread(fd, to.data() + filled, to.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

}  // namespace gp
