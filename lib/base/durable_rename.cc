#include "base/durable_rename.h"

#include <cerrno>
#include <cstdio>

#include "base/file.h"

namespace gp {

Status RenameDurably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, "rename to", to);
  return SyncDirectory(DirectoryOf(to));
}

}  // namespace gp
