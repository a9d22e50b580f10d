// Starts another program: fork, the child's steps before exec, and the report of an exec that
// failed. Functions may be called from any thread; a child must be reaped by the process that
// started it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "daemon/account.h"

namespace gp::daemon {

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

// A pipe that is closed in started programs, unless ChildProgram names its ends.
StatusOr<Pipe> MakePipe();

// The first of ChildProgram::descriptors.
inline constexpr int kFirstChildDescriptor = 3;

enum class ChildGroup {
  kSame,     // this process' group: the terminal's Ctrl-C reaches both
  kGroup,    // its own process group, so that it can be killed together with its children
  kSession,  // a session of its own: it outlives this process and its terminal
};

// A program to start. Its standard input is empty, its signals are unblocked, and only the
// descriptors that are named here are open.
struct ChildProgram {
  std::string program;                                  // path; no search
  std::vector<std::string> arguments;                   // without the program's name
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; absent: inherited
  int output = -1;                                      // its standard output; -1: inherited
  int error = -1;                                       // its standard error; -1: inherited
  std::vector<int> descriptors;                         // they become 3, 4, …
  ChildGroup group = ChildGroup::kSame;
  // It cannot gain privileges, leaves no core dump, opens at most 65536 files, and the kernel kills
  // it when the *thread* that started it ends, so that kill -9 of this process leaves no orphan.
  bool confined = false;
  std::optional<Account> account;  // the user to run as; absent: this process' user. Needs root
  std::vector<int> cores;          // cores that it may run on; empty: the same as this process
};

// Returns the process number when the program has started. NotFound or PermissionDenied name the
// program; then no process is left.
StatusOr<pid_t> StartChild(const ChildProgram& child);

// Waits for the process to end and reaps it. Returns waitpid's status; 0 when it was reaped
// elsewhere.
int AwaitExit(pid_t pid);

}  // namespace gp::daemon
