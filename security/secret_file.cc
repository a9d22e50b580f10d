#include "security/secret_file.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/file.h"

namespace gp::security {

Status MakeSecretDirectory(const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  if (chmod(directory.c_str(), 0700) == 0) return OkStatus();
  return ErrnoStatus(errno, "close to other users", directory);
}

Status WriteSecretFile(const std::string& path, std::string_view text) {
  return WriteFileAtomically(path, text, 0600);
}

StatusOr<std::string> ReadSecretFile(const std::string& path, uint64_t size_bytes_max) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return ErrnoStatus(errno, "read", path);
  if (S_ISREG(status.st_mode) && (status.st_mode & 077) != 0) {
    return PermissionDenied(
        "{} holds a secret and other users may read or write it (mode {:04o}); close it with "
        "'chmod 600 {}'",
        path, status.st_mode & 07777, path);
  }
  return ReadFile(path, size_bytes_max);
}

}  // namespace gp::security
