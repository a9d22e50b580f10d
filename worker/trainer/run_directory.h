// RunDirectory: remembers the directory that a run began with, and detects that its path leads
// elsewhere. The kernel lets a confined trainer write only in that directory, not in a new one of
// the same name. Immutable; thread-safe.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::engine {

class RunDirectory {
 public:
  enum class Place {
    kThere,     // where it was, or it was never there
    kMoved,     // nothing has its name, and it still exists: moved, or its file system is unmounted
    kReplaced,  // another directory has its name
    kDeleted,
  };

  // Keeps the directory open.
  explicit RunDirectory(std::string path);

  Place Find() const;

  // The problem of the directory and the fix, for a save that ended with `failed`. Empty if the
  // directory is still in place, or the save failed for another reason, like a full disk.
  std::string Trouble(const Status& failed) const;

 private:
  const std::string path_;
  const FileDescriptor opened_;  // invalid: it did not exist
};

}  // namespace gp::engine
