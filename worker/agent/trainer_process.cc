#include "worker/agent/trainer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "daemon/child_process.h"
#include "worker/agent/engine_limits.h"

namespace gp::agent {
namespace {

constexpr size_t kLineBytesMax = 8192;
constexpr size_t kReadBytesMax = 64 << 10;
// More than a pipe holds. Limits the output when a grandchild keeps printing.
constexpr size_t kFinalBytesMax = 1 << 20;

static_assert(link::kEngineDescriptor == daemon::kFirstChildDescriptor);

}  // namespace

StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Spawn(const TrainerCommand& command,
                                                                const std::string& name) {
  ASSIGN_OR_RETURN(auto link, link::Channel::MakePair());
  ASSIGN_OR_RETURN(daemon::Pipe output, daemon::MakePipe());
  ASSIGN_OR_RETURN(const pid_t pid, daemon::StartChild({.program = command.program,
                                                        .arguments = command.arguments,
                                                        .environment = command.environment,
                                                        .output = output.write.get(),
                                                        .error = output.write.get(),
                                                        .descriptors = {link.second.get()},
                                                        .group = daemon::ChildGroup::kGroup,
                                                        .confined = true,
                                                        .account = command.account,
                                                        .cores = command.cores}));
  // Calls pidfd_open by its number, because glibc 2.36 declares the wrapper without C linkage.
  FileDescriptor exit_watch(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!exit_watch.valid() || fcntl(output.read.get(), F_SETFL, O_NONBLOCK) != 0) {
    const Status status = ErrnoStatus(errno, "watch trainer", command.program);
    kill(pid, SIGKILL);
    daemon::AwaitExit(pid);
    return status;
  }
  return std::unique_ptr<TrainerProcess>(new TrainerProcess(
      pid, std::move(exit_watch), std::move(output.read), std::move(link.first), name));
}

TrainerProcess::TrainerProcess(int pid, FileDescriptor exit_watch, FileDescriptor output,
                               FileDescriptor link, const std::string& name)
    : pid_(pid),
      exit_watch_(std::move(exit_watch)),
      output_(std::move(output)),
      channel_(std::make_unique<link::Channel>(std::move(link), name, kEngineMessageBytesMax)),
      splitter_(kLineBytesMax) {}

TrainerProcess::~TrainerProcess() {
  if (reaped_) return;
  Signal(SIGKILL);
  daemon::AwaitExit(pid_);
}

void TrainerProcess::Signal(int signal) {
  if (!reaped_) kill(-pid_, signal);
}

std::vector<std::string> TrainerProcess::ReadLines() {
  std::vector<std::string> lines;
  const auto take = [&](std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(lines));
  };
  const size_t bytes_max = reaped_ ? kFinalBytesMax : kReadBytesMax;
  std::array<char, 4096> buffer;
  for (size_t total = 0; output_.valid() && total < bytes_max;) {
    const ssize_t got = read(output_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) output_.Close();
    take(splitter_.Add({buffer.data(), static_cast<size_t>(got)}));
    total += static_cast<size_t>(got);
  }
  if (reaped_ || !output_.valid()) take(splitter_.Flush());
  if (!lines.empty()) last_line_ = lines.back();
  return lines;
}

std::optional<int> TrainerProcess::Reap() {
  if (reaped_) return std::nullopt;
  siginfo_t info{};
  // Kills the process group before the zombie is reaped: until then its number cannot belong to
  // another group.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  Signal(SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0)
    GP_CHECK(errno == EINTR, "waitpid {}: errno {}", pid_, errno);
  reaped_ = true;
  return status;
}

}  // namespace gp::agent
