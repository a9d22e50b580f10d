#include "client/gpctl/service/program_run.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "daemon/child_process.h"

namespace gp::gpctl {
namespace {

static_assert(daemon::kFirstChildDescriptor == 3, "kFirstDescriptorPath names it");

// The file for the program's stderr: /dev/null when it must be quiet.
StatusOr<FileDescriptor> OpenErrors(bool quiet) {
  if (!quiet) return FileDescriptor();
  FileDescriptor null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null.valid()) return ErrnoStatus(errno, "open", "/dev/null");
  return null;
}

void ReadAll(int fd, const std::function<void(const std::string&)>& on_output) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    on_output(std::string(buffer.data(), size));
  }
}

int ExitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

StatusOr<FileDescriptor> FileInMemory(const std::string& text, const std::string& reader) {
  FileDescriptor file(memfd_create("text", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "make a file in memory for", reader);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "write a file in memory for", reader);
  }
  return file;
}

StatusOr<int> RunProgram(const ProgramRun& run, client::Interruption& interruption,
                         const std::function<void(const std::string&)>& on_output) {
  ASSIGN_OR_RETURN(daemon::Pipe output, daemon::MakePipe());
  ASSIGN_OR_RETURN(const FileDescriptor errors, OpenErrors(run.quiet));
  ASSIGN_OR_RETURN(const pid_t pid, daemon::StartChild({.program = run.program,
                                                        .arguments = run.arguments,
                                                        .output = output.write.get(),
                                                        .error = errors.get(),
                                                        .descriptors = run.descriptors}));
  output.write.Close();
  {
    const auto scope = interruption.OnRequest([pid] { kill(pid, SIGKILL); });
    ReadAll(output.read.get(), on_output);
  }
  const int code = ExitCodeOf(daemon::AwaitExit(pid));
  if (interruption.requested()) return Cancelled("interrupted");
  return code;
}

StatusOr<int> RunOwnProgram(const Console& console, const std::string& name,
                            const std::vector<std::string>& arguments,
                            const std::function<void(const std::string&)>& on_output) {
  const std::string program = JoinPath(console.program_directory, name);
  const StatusOr<int> code =
      RunProgram({.program = program, .arguments = arguments}, console.interruption, on_output);
  if (code.status().code() != StatusCode::kNotFound) return code;
  return FailedPrecondition("{} is missing: it belongs beside gpctl; build it with 'make programs'",
                            program);
}

}  // namespace gp::gpctl
