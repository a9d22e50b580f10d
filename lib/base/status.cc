#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace gp {
namespace {

StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EEXIST:
      return StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return StatusCode::kResourceExhausted;
    case EADDRINUSE:
      return StatusCode::kFailedPrecondition;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return StatusCode::kUnavailable;
    case ETIMEDOUT:
      return StatusCode::kDeadlineExceeded;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

Status ErrnoStatus(int error_number, const std::string& operation, const std::string& path) {
  return Status(CodeOf(error_number),
                fmt::format("{} {}: {}", operation, path, std::strerror(error_number)));
}

}  // namespace gp
