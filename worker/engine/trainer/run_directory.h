// RunDirectory: knows the directory that a run began with, and says when its path leads elsewhere.
// A confined trainer may write in that directory alone, not in a new one of the same name.
// Immutable; thread-safe.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace gp::engine {

class RunDirectory {
 public:
  explicit RunDirectory(std::string path);

  // What became of it and the way out, for a save that ended with `failed`. Empty when the
  // directory is where it was, or when the save failed for another reason, like a full disk.
  std::string Trouble(const Status& failed) const;

 private:
  const std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // 0: it was not there
};

}  // namespace gp::engine
