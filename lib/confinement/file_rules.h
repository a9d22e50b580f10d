// FileRules: which files a process may open, whatever their access modes say. The kernel enforces
// them through Landlock from RestrictFiles on, for this process and those that it starts, and
// nothing can lift them. Functions may be called from any thread, but a restriction holds for the
// calling thread and the threads that it starts later: restrict before there is a second one.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp::confinement {

// Files and directories, each with everything below it. Paths that do not exist are passed by.
struct FileRules {
  std::vector<std::string> readable;
  std::vector<std::string> writable;  // and readable
  // Files that are there may be read and written; no file or directory can be made or removed.
  std::vector<std::string> overwritable;
  std::vector<std::string> devices;  // read, written, asked by ioctl
};

// The version of the kernel's Landlock interface; 0: the kernel has none, or does not let this
// process use it.
int LandlockVersion();

// From here on no other file can be opened or made, and no program be started. Version 6 and later
// also keep signals inside the process. Unimplemented when LandlockVersion is 0. REQUIRES:
// no_new_privs is set, or the process may do without.
Status RestrictFiles(const FileRules& rules);

// The files that every program of ours needs beside those of a run: its own directory, libraries,
// tuned kernels, the kernel's description of the machine. With `gpus`, also the files that the
// libraries of GPUs need.
FileRules SystemFiles(bool gpus);

}  // namespace gp::confinement
