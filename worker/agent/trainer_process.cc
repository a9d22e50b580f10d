#include "worker/agent/trainer_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace gp::agent {
namespace {

constexpr size_t kLineBytesMax = 8192;
constexpr size_t kReadBytesMax = 64 << 10;
// More than a pipe holds; a bound in case that a stray grandchild goes on printing.
constexpr size_t kFinalBytesMax = 1 << 20;

using Pipe = std::pair<FileDescriptor, FileDescriptor>;  // read, write

StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create", "a pipe");
  return Pipe(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Everything the child needs, made before the fork: between fork and exec only async-signal-safe
// calls are allowed.
struct Launch {
  const char* program;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  cpu_set_t cores;
  bool pin = false;
  int link = -1;
  int output = -1;
  int null = -1;
  int failure = -1;  // the child writes errno here when it cannot become the trainer
  pid_t parent = 0;
};

[[noreturn]] void GiveUp(const Launch& launch) {
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written =
      write(launch.failure, &error_number, sizeof error_number);
  _exit(127);
}

// 0, 1, 2 and 3 for the trainer; every other descriptor closes at exec. The sources may be any
// number, 0 to 3 too, so they are moved out of the way first.
bool ArrangeDescriptors(Launch& launch) {
  for (int* source : {&launch.link, &launch.output, &launch.null, &launch.failure}) {
    *source = fcntl(*source, F_DUPFD_CLOEXEC, 10);
    if (*source < 0) return false;
  }
  return dup2(launch.null, 0) >= 0 && dup2(launch.output, 1) >= 0 && dup2(launch.output, 2) >= 0 &&
         dup2(launch.link, link::kEngineDescriptor) >= 0 &&
         close_range(link::kEngineDescriptor + 1, ~0u, CLOSE_RANGE_CLOEXEC) == 0;
}

void ResetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
}

bool Confine(const Launch& launch) {
  const rlimit no_core{0, 0};
  return setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && setrlimit(RLIMIT_CORE, &no_core) == 0 &&
         (!launch.pin || sched_setaffinity(0, sizeof launch.cores, &launch.cores) == 0);
}

[[noreturn]] void BecomeTrainer(Launch& launch) {
  ResetSignals();
  if (!Confine(launch) || !ArrangeDescriptors(launch)) GiveUp(launch);
  // The parent may have died before the death signal was set.
  if (getppid() != launch.parent) _exit(127);
  execve(launch.program, launch.arguments.data(), launch.environment.data());
  GiveUp(launch);
}

// What the child said before it gave up; 0 when it became the trainer.
int ReadFailure(int descriptor) {
  int error_number = 0;
  ssize_t got = 0;
  do {
    got = read(descriptor, &error_number, sizeof error_number);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error_number) ? error_number : 0;
}

void FillCores(const std::vector<int>& cores, Launch& launch) {
  CPU_ZERO(&launch.cores);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &launch.cores);
  launch.pin = !cores.empty();
}

void WaitFor(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Spawn(const TrainerCommand& command,
                                                                const std::string& name) {
  ASSIGN_OR_RETURN(auto link, link::Channel::MakePair());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe failure, MakePipe());
  FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) return ErrnoStatus(errno, "open", "/dev/null");

  std::vector<std::string> arguments = {command.program};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  Launch launch{.program = command.program.c_str(),
                .arguments = Pointers(arguments),
                .environment = Pointers(command.environment),
                .link = link.second.get(),
                .output = output.second.get(),
                .null = null.get(),
                .failure = failure.second.get(),
                .parent = getpid()};
  FillCores(command.cores, launch);

  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork for", command.program);
  if (pid == 0) BecomeTrainer(launch);
  failure.second.Close();
  if (const int error_number = ReadFailure(failure.first.get())) {
    WaitFor(pid);
    return ErrnoStatus(error_number, "start trainer", command.program);
  }
  // By its number: glibc 2.36 declares the wrapper without C linkage.
  FileDescriptor exit_watch(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!exit_watch.valid() || fcntl(output.first.get(), F_SETFL, O_NONBLOCK) != 0) {
    const Status status = ErrnoStatus(errno, "watch trainer", command.program);
    kill(pid, SIGKILL);
    WaitFor(pid);
    return status;
  }
  return std::unique_ptr<TrainerProcess>(new TrainerProcess(
      pid, std::move(exit_watch), std::move(output.first), std::move(link.first), name));
}

TrainerProcess::TrainerProcess(int pid, FileDescriptor exit_watch, FileDescriptor output,
                               FileDescriptor link, const std::string& name)
    : pid_(pid),
      exit_watch_(std::move(exit_watch)),
      output_(std::move(output)),
      channel_(std::make_unique<link::Channel>(std::move(link), name)),
      splitter_(kLineBytesMax) {}

TrainerProcess::~TrainerProcess() {
  if (reaped_) return;
  Signal(SIGKILL);
  WaitFor(pid_);
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
  // Its process group is ended while the zombie still holds the number, so that no stranger can
  // have it.
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
