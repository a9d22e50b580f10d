// Runs another program to its end and reads its output. May be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/api/interruption.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

struct ProgramRun {
  std::string program;
  std::vector<std::string> arguments;  // without the program
  bool quiet = false;                  // its messages on stderr are dropped
  std::vector<int> descriptors;        // open files that it gets as 3, 4, …
  // When interrupted, it gets SIGTERM, and SIGKILL if it still runs after this time or at a second
  // request. With 0 it gets SIGKILL at once. With another value it has a process group of its own,
  // so that the programs that it has started end, too.
  std::chrono::milliseconds grace{0};
};

// The path by which the program opens the first of its descriptors.
inline constexpr char kFirstDescriptorPath[] = "/dev/fd/3";

// The text as a file in memory for `reader`; only this process and its children can open it.
StatusOr<FileDescriptor> FileInMemory(const std::string& text, const std::string& reader);

// Calls `on_output` with each piece of its standard output; returns its exit code (128 + the
// signal's number when one ended it). NotFound or PermissionDenied when it cannot be started;
// Cancelled when interrupted, after the program has ended.
StatusOr<int> RunProgram(const ProgramRun& run, client::Interruption& interruption,
                         const std::function<void(const std::string&)>& on_output);

// The same for the program `name` beside gpctl. FailedPrecondition if it is missing, with the
// command that builds it.
StatusOr<int> RunOwnProgram(const Console& console, const std::string& name,
                            const std::vector<std::string>& arguments,
                            const std::function<void(const std::string&)>& on_output);

}  // namespace gp::gpctl
