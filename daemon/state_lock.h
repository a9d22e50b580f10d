// StateLock: at most one process uses a state directory. It is a lock on a file in the directory;
// the kernel releases it when the process ends, also by a crash. The file contains the holder's
// process number. Any thread of the holder may release it.
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
