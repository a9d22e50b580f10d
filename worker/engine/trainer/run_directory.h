// RunDirectory: knows the directory that a run began with, and says when its path leads elsewhere.
// A confined trainer may write in that directory alone, not in a new one of the same name.
// Immutable; thread-safe.
#pragma once

#include <sys/types.h>

#include <string>

namespace gp::engine {

class RunDirectory {
 public:
  explicit RunDirectory(std::string path);

  // What became of it, and the way out; empty when it is where it was.
  std::string Trouble() const;

 private:
  const std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // 0: it was not there
};

}  // namespace gp::engine
