#include "worker/engine/trainer/run_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace gp::engine {

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

std::string RunDirectory::Trouble(const Status& failed) const {
  struct stat info {};
  const bool led_elsewhere =
      failed.code() == StatusCode::kNotFound || failed.code() == StatusCode::kPermissionDenied;
  if (inode_ == 0 || !led_elsewhere) return "";
  const bool found = stat(path_.c_str(), &info) == 0;
  if (found && info.st_dev == device_ && info.st_ino == inode_) return "";
  return fmt::format(
      "{} {} while the run trained, and the trainer may write in the directory that it began with "
      "alone; mount it or move it back and the save goes on, the state stays in memory until then",
      path_, found ? "was replaced by another directory" : "was deleted or moved");
}

}  // namespace gp::engine
