#include "client/gateway/http/file_stamp.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace gp::gateway {

std::string StampOf(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return "";
  return fmt::format("{}:{}:{}.{}", found.st_ino, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

}  // namespace gp::gateway
