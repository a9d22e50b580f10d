// FileRules: which files a process may open, regardless of their access modes. The kernel enforces
// them through Landlock from RestrictFiles on, for this process and its children, irrevocably.
// Functions may be called from any thread, but a restriction holds for the calling thread and the
// threads that it starts later: restrict before there is a second one.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp::confinement {

// Files and directories, each with everything below it. Paths that do not exist, or that this
// process may not reach, are skipped.
struct FileRules {
  std::vector<std::string> readable;
  std::vector<std::string> writable;  // and readable too
  // Existing files may be read and written; no file or directory can be created or removed.
  std::vector<std::string> overwritable;
  std::vector<std::string> devices;  // read, write and ioctl
};

// The version of the kernel's Landlock interface; 0: the kernel has none, or does not let this
// process use it.
int LandlockVersion();

// From here on no other file can be opened or created, and no program can be started. Version 6 and
// later also keep signals inside the process. Unimplemented when LandlockVersion is 0. REQUIRES:
// no_new_privs is set, or the process has CAP_SYS_ADMIN.
Status RestrictFiles(const FileRules& rules);

// The files that every program of gp needs besides those of a run: its own directory, libraries,
// GPT-2's vocabulary, tuned kernels, the kernel's description of the machine. With `gpus`, also the
// files and devices that GPU libraries need; then /dev/shm is writable.
FileRules SystemFiles(bool gpus);

}  // namespace gp::confinement
