// RunFiles: the files that a training under an agent may touch, as the agent decided. Checked in
// words when the run file is there, and enforced by the kernel from the start of the process. A
// value; Confine is called once, before there is a second thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"

namespace gp::engine {

struct RunFiles {
  std::vector<std::string> data_roots;  // beneath which the run file may name files
  std::string storage_root;
  // Beneath storage_root; the only directory that is written. Empty: nothing is confined or
  // checked, as nobody decided anything.
  std::string run_directory;
  std::string checkpoint;  // beneath storage_root: what the run begins with; empty: nothing there
  bool gpu = false;        // it computes on a GPU, whose devices it keeps

  // Takes from this process all other files, and system calls that it does not need. Makes the
  // run's directory when it is not there yet.
  Status Confine() const;

  // Takes all files but those of the directory that now has the name of the run's, which it makes
  // when nothing has the name. PermissionDenied or InvalidArgument when a link leads there.
  Status ConfineToRunDirectory() const;

  // PermissionDenied when this node does not let the run read a file, InvalidArgument when no node
  // should. Both name the key and the path, or the link in the run's directory.
  Status Check(const runspec::RunSpec& spec) const;
};

}  // namespace gp::engine
