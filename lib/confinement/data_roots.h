// DataRoots: the directories below which a run may name files, and the check of a path. The check
// exists to explain errors; FileRules for the same directories enforce it when a file is opened, so
// changing a link after the check gains nothing. Constant after construction; any thread may call.
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

  // OK for a file, a directory or a pattern below a root, even if nothing exists there yet: its
  // reader reports that. PermissionDenied when it is not below any root of this node.
  // InvalidArgument names the path and the problem: relative, reached through a link that leads
  // out, a directory with such a link in it, a pattern with "..", not a regular file or directory,
  // a file of the kernel. Links are searched in a directory's first 1,000,000 entries, not in
  // hidden directories, and not at all when "/" is a root; a missed link cannot be opened anyway
  // (FileRules).
  Status Check(const std::string& path) const;

 private:
  struct Root {
    std::string name;  // as given
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

// InvalidArgument when `path` is not below `root`, when it is a link or a directory between the two
// is one (the message names `path`), or when there is any link below `path` (it names the link).
// With a link, files outside `path` could be read or written. Skips hidden directories, and entries
// after the first 1,000,000. `root` itself may be a link, and nothing needs to exist.
Status CheckHasNoLinks(const std::string& root, const std::string& path);

}  // namespace gp::confinement
