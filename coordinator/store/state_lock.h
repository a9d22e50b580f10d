// StateLock: at most one coordinator uses a state directory. A lock on a file in it, which the
// kernel drops when its holder dies, however it dies.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::coordinator {

class StateLock {
 public:
  // FailedPrecondition names the directory and the process that holds it.
  static StatusOr<StateLock> Acquire(const std::string& state_dir);

 private:
  explicit StateLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace gp::coordinator
