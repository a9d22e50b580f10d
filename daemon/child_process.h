// Starting another program: the fork, what the child must do before it becomes that program, and
// how it tells that it could not. Functions may be called from any thread; a child must be reaped
// by the process that started it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace gp::daemon {

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

// Closed in programs that are started, unless it is named for them.
StatusOr<Pipe> MakePipe();

// The first of ChildProgram::descriptors.
inline constexpr int kFirstChildDescriptor = 3;

enum class ChildGroup {
  kSame,     // this process' group: the terminal's Ctrl-C reaches both
  kGroup,    // a process group of its own, so that it can be ended with what it starts
  kSession,  // a session of its own: it outlives this process and its terminal
};

// Its standard input is empty. Signals are unblocked. No descriptor is open but those named here.
struct ChildProgram {
  std::string program;                                  // path; no search
  std::vector<std::string> arguments;                   // without the program's name
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; absent: as here
  int output = -1;                                      // its standard output; -1: as here
  int error = -1;                                       // its standard error; -1: as here
  std::vector<int> descriptors;                         // they become 3, 4, …
  ChildGroup group = ChildGroup::kSame;
  // It cannot gain privileges, leaves no core dump, and the kernel kills it when the *thread* that
  // started it ends, so that kill -9 of this process leaves no orphan.
  bool confined = false;
  std::vector<int> cores;  // that it may run on; empty: as here
};

// Its process number, once it is that program. NotFound or PermissionDenied name the program; then
// no process is left.
StatusOr<pid_t> StartChild(const ChildProgram& child);

// Waits for its end and reaps it; waitpid's status, 0 when somebody else reaped it.
int AwaitExit(pid_t pid);

}  // namespace gp::daemon
