// RunFiles: the files that a training under an agent may access, as decided by the agent. Checked
// with error messages when the run file arrives, and enforced by the kernel from the start of the
// process. A value; Confine is called once, before there is a second thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"

namespace gp::engine {

struct RunFiles {
  std::vector<std::string> data_roots;  // beneath which the run file may name files
  std::string storage_root;
  // Below storage_root; the only writable directory. Empty: no agent decided anything, so nothing
  // is confined or checked.
  std::string run_directory;
  std::string checkpoint;  // beneath storage_root: what the run begins with; empty: none
  bool gpu = false;        // the run needs access to the GPU devices

  // Removes this process's access to all other files, and to system calls that it does not need.
  // Creates the run's directory if missing. On a GPU, the folder of the matrix products that were
  // chosen by timing stays writable, so that the next run need not time them.
  Status Confine() const;

  // Removes access to all files except the directory that is now at run_directory, which is created
  // if missing. PermissionDenied or InvalidArgument if that path is a link.
  Status ConfineToRunDirectory() const;

  // PermissionDenied when this node does not allow the run to read a file, InvalidArgument when no
  // node should allow it. Both name the key and the path, or the link in the run's directory.
  Status Check(const runspec::RunSpec& spec) const;
};

}  // namespace gp::engine
