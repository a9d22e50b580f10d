// StateLock: at most one process uses a state directory. A lock on a file in it, which the kernel
// drops when its holder ends, however it ends. The file holds the holder's process number. Whoever
// holds the lock may drop it from any thread.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::daemon {

class StateLock {
 public:
  // Locks the file `name` in `directory`, which exists. FailedPrecondition names the directory, the
  // process that holds it and `user`: "another gp-worker".
  static StatusOr<StateLock> Acquire(const std::string& directory, const std::string& name,
                                     const std::string& user);

 private:
  explicit StateLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace gp::daemon
