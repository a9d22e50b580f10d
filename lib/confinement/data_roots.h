// DataRoots: the directories beneath which a run may name files, and the check of a name. The
// decision in words; what is enforced when a file is opened are the FileRules of the same
// directories, so that a link which is changed after the check leads nowhere. Constant after
// construction; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "base/name_pattern.h"
#include "base/status.h"

namespace gp::confinement {

class DataRoots {
 public:
  // Absolute directories. A directory that does not exist is a root that holds nothing. `also` are
  // roots that errors do not list.
  explicit DataRoots(const std::vector<std::string>& directories,
                     const std::vector<std::string>& also = {});

  // OK for a file, a directory or a pattern beneath a root, also when nothing is there yet: who
  // reads it tells that. PermissionDenied when it lies beneath no root of this node.
  // InvalidArgument names the path and what else is wrong: relative, reached through a link that
  // leads out, a directory with such a link in it, a pattern that climbs, no regular file or
  // directory, a file of the kernel.
  Status Check(const std::string& path) const;

 private:
  struct Root {
    std::string name;  // as it was given
    std::string path;  // without links
    bool listed = true;
  };

  void Add(const std::vector<std::string>& directories, bool listed);
  Status CheckPattern(const std::string& path, const NamePattern& name) const;
  Status CheckFile(const std::string& path) const;
  Status CheckKind(int file, const std::string& path) const;
  Status CheckLinksBelow(const std::string& directory) const;
  bool HasEverything() const;
  bool Names(const std::string& path) const;
  Status Outside(const std::string& path) const;

  std::vector<Root> roots_;
};

// InvalidArgument names the first link on the way from `root` to `path` or below `path`, at whose
// end other files would be read or written than those of `path`. `root` itself may be a link, and
// nothing has to be there.
Status CheckHasNoLinks(const std::string& root, const std::string& path);

}  // namespace gp::confinement
