// LockHolder: the process that a lock file names as the holder of a directory, which several hosts
// and containers may share (docs/formats/local-service.md). Values; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace gp::daemon {

struct LockHolder {
  int pid = 0;                // in the pid namespace of its own container
  std::string host;           // the name of its host or container
  std::string boot_id;        // identifies the boot of its machine's kernel
  std::string pid_namespace;  // identifies its container on that kernel
  std::string since;          // UTC, for people

  // Describes this process.
  static LockHolder Self(const Clock& clock);
  // The holder in the text of a lock file. A file of an older version contains only the process
  // number; pid is 0 when the text names no process.
  static LockHolder Parse(std::string_view text);

  std::string FileText() const;
  // "process 4, since 2026-11-25T19:04:49Z", with the host or container when it is another.
  std::string Description(const LockHolder& self) const;
  // Whether the holder is on another host or in another container (pid namespace), so that its
  // process number means nothing here.
  bool IsElsewhere(const LockHolder& self) const;
  // Whether the holder runs, or ran, under another kernel than `self`. A machine that was started
  // again keeps its name and so counts as the same one.
  bool IsOnAnotherHost(const LockHolder& self) const;
};

}  // namespace gp::daemon
