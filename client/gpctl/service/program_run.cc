#include "client/gpctl/service/program_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

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

int ExitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr std::chrono::milliseconds kGracePoll{50};  // after SIGTERM
constexpr std::chrono::milliseconds kExitPoll{5};    // after the end of the output

// A program that runs: reads its output, and ends it when interrupted.
class RunningProgram {
 public:
  RunningProgram(pid_t pid, std::chrono::milliseconds grace, client::Interruption& interruption)
      : pid_(pid), grace_(grace), interruption_(interruption) {}

  // Returns its exit code when it has ended.
  StatusOr<int> ReadToEnd(int output, const std::function<void(const std::string&)>& on_output) {
    if (HasGrace()) interruption_.MindInsistence();
    ASSIGN_OR_RETURN(const daemon::Pipe wake, daemon::MakePipe());
    output_ = output;
    {
      const auto scope = interruption_.OnRequest([this, &wake] {
        Signal(HasGrace() ? SIGTERM : SIGKILL);
        [[maybe_unused]] const ssize_t written = write(wake.write.get(), "", 1);
      });
      while (output_ >= 0 || !HasEnded()) Wait(wake.read.get(), on_output);
    }
    const int code = ExitCodeOf(daemon::AwaitExit(pid_));
    if (HasGrace()) Signal(SIGKILL);  // what it has started and left
    return code;
  }

 private:
  bool HasGrace() const { return grace_.count() > 0; }
  void Signal(int number) const { kill(HasGrace() ? -pid_ : pid_, number); }

  // Does not reap it.
  bool HasEnded() const {
    siginfo_t info{};
    return waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid_;
  }

  int LongestWait() const {
    if (output_ < 0) return static_cast<int>(kExitPoll.count());
    return kill_at_ ? static_cast<int>(kGracePoll.count()) : -1;
  }

  // Waits for output, for the interruption or the end of the grace.
  void Wait(int wake, const std::function<void(const std::string&)>& on_output) {
    std::array<pollfd, 2> ready = {pollfd{output_, POLLIN, 0},
                                   pollfd{kill_at_ ? -1 : wake, POLLIN, 0}};
    poll(ready.data(), ready.size(), LongestWait());
    if (ready[1].revents != 0) kill_at_ = std::chrono::steady_clock::now() + grace_;
    if (kill_at_) KillIfLate();
    if (ready[0].revents != 0) Read(on_output);
  }

  void KillIfLate() const {
    const bool late = std::chrono::steady_clock::now() >= *kill_at_;
    if (late || interruption_.insisted() || HasEnded()) Signal(SIGKILL);
  }

  void Read(const std::function<void(const std::string&)>& on_output) {
    std::array<char, 4096> buffer{};
    const ssize_t size = read(output_, buffer.data(), buffer.size());
    if (size > 0) on_output(std::string(buffer.data(), size));
    if (size == 0 || (size < 0 && errno != EINTR)) output_ = -1;
  }

  const pid_t pid_;
  const std::chrono::milliseconds grace_;
  client::Interruption& interruption_;
  int output_ = -1;                                               // -1: at its end
  std::optional<std::chrono::steady_clock::time_point> kill_at_;  // absent: not interrupted
};

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
                                                        .descriptors = run.descriptors,
                                                        .group = run.grace.count() > 0
                                                                     ? daemon::ChildGroup::kGroup
                                                                     : daemon::ChildGroup::kSame}));
  output.write.Close();
  RunningProgram program(pid, run.grace, interruption);
  ASSIGN_OR_RETURN(const int code, program.ReadToEnd(output.read.get(), on_output));
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
