// StorageRoot: the shared path that coordinator and agents see under one name, checked with a probe
// file. Immutable after Open; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "coordinator/state/ids.h"

namespace gp::coordinator {

class StorageRoot {
 public:
  virtual ~StorageRoot() = default;
  // Makes the directory and its probe file when absent. Errors name the path and what is wrong with
  // it.
  static StatusOr<StorageRoot> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& probe() const { return probe_; }
  std::string RunDirectory(const RunId& run) const;

  // FailedPrecondition or ResourceExhausted when a run could not write its checkpoints now. May
  // take long: a network file system may hang.
  virtual Status CheckWritable() const;

 protected:
  StorageRoot(std::string path, std::string probe)
      : path_(std::move(path)), probe_(std::move(probe)) {}

 private:
  std::string path_;  // absolute
  std::string probe_;
};

}  // namespace gp::coordinator
