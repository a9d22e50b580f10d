#include "worker/trainer/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace gp::engine {

RunDirectory::RunDirectory(std::string path)
    : path_(std::move(path)), opened_(open(path_.c_str(), O_PATH | O_CLOEXEC)) {}

// An fstat error comes from a network file system whose directory is gone.
RunDirectory::Place RunDirectory::Find() const {
  if (!opened_.valid()) return Place::kThere;
  struct stat began {};
  struct stat now {};
  const bool exists = fstat(opened_.get(), &began) == 0 && began.st_nlink > 0;
  if (stat(path_.c_str(), &now) != 0) return exists ? Place::kMoved : Place::kDeleted;
  const bool same = exists && now.st_dev == began.st_dev && now.st_ino == began.st_ino;
  return same ? Place::kThere : Place::kReplaced;
}

std::string RunDirectory::Trouble(const Status& failed) const {
  const bool led_elsewhere =
      failed.code() == StatusCode::kNotFound || failed.code() == StatusCode::kPermissionDenied;
  if (!led_elsewhere) return "";
  switch (Find()) {
    case Place::kThere:
      return "";
    case Place::kReplaced:
      return fmt::format(
          "{} was replaced by another directory while the run trained; let the trainer's user "
          "write in it and the save continues; until then the state stays in memory",
          path_);
    case Place::kMoved:
    case Place::kDeleted:
      break;
  }
  return fmt::format(
      "{} was deleted or moved while the run trained; mount it or move it back and the save "
      "continues; until then the state stays in memory",
      path_);
}

}  // namespace gp::engine
