#include "daemon/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"

namespace gp::daemon {
namespace {

constexpr int kNeverStarted = 127;
// A trainer keeps all its shards open, and each takes a descriptor.
constexpr rlim_t kOpenFilesMax = 65536;

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Everything the child needs, made before the fork: between fork and exec only async-signal-safe
// calls are allowed.
struct Launch {
  char* const* arguments;
  char* const* environment;
  // These become descriptors 0, 1, 2, 3, …; -1: this one stays as it is.
  std::vector<int> descriptors;
  int failure;  // the child writes errno here when exec fails
  ChildGroup group;
  bool confined;
  std::optional<Account> account;
  bool pinned;
  cpu_set_t cores;
  pid_t parent;
};

cpu_set_t CoreSet(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  return set;
}

[[noreturn]] void GiveUp(const Launch& launch) {
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written =
      write(launch.failure, &error_number, sizeof error_number);
  _exit(kNeverStarted);
}

// Unblocks all signals. A child in this process' group shares its terminal or shell, so it keeps
// the stop signals that this process ignores; any other child gets the defaults.
void ResetSignals(ChildGroup group) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (group == ChildGroup::kSame) return;
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_DFL);
}

bool EnterGroup(ChildGroup group) {
  if (group == ChildGroup::kGroup) return setpgid(0, 0) == 0;
  return group == ChildGroup::kSame || setsid() >= 0;
}

// Changes the user last, because afterwards the process may not change its groups. Call this before
// prctl(PR_SET_PDEATHSIG), because a change of user clears that signal.
bool BecomeAccount(const std::optional<Account>& account) {
  if (!account) return true;
  return setgroups(1, &account->group) == 0 &&
         setresgid(account->group, account->group, account->group) == 0 &&
         setresuid(account->user, account->user, account->user) == 0;
}

bool LimitOpenFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
  files.rlim_max = std::min(files.rlim_max, kOpenFilesMax);
  files.rlim_cur = files.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

bool Confine() {
  const rlimit no_core{0, 0};
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         setrlimit(RLIMIT_CORE, &no_core) == 0 && LimitOpenFiles();
}

// Moves the descriptor to `lowest` or a higher number. When that fails it stays where it is, so
// that GiveUp can still say why.
bool MoveAway(int& descriptor, int lowest) {
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
  if (moved < 0 && errno == EINVAL) errno = EMFILE;  // `lowest` is above the limit
  if (moved < 0) return false;
  descriptor = moved;
  return true;
}

// Gives each source descriptor its target number. Moves all sources above the targets first,
// because a source's number may be the target of another.
bool ArrangeDescriptors(Launch& launch) {
  const int beyond_targets = static_cast<int>(launch.descriptors.size());
  if (!MoveAway(launch.failure, beyond_targets)) return false;
  for (int& source : launch.descriptors) {
    if (source >= 0 && !MoveAway(source, beyond_targets)) return false;
  }
  int target = 0;
  for (const int source : launch.descriptors) {
    if (source >= 0 && dup2(source, target) < 0) return false;
    ++target;
  }
  return close_range(static_cast<unsigned>(target), ~0u, CLOSE_RANGE_CLOEXEC) == 0;
}

[[noreturn]] void BecomeProgram(Launch& launch) {
  ResetSignals(launch.group);
  const bool ready =
      EnterGroup(launch.group) &&
      (!launch.pinned || sched_setaffinity(0, sizeof launch.cores, &launch.cores) == 0) &&
      BecomeAccount(launch.account) && (!launch.confined || Confine()) &&
      ArrangeDescriptors(launch);
  if (!ready) GiveUp(launch);
  // The parent may have ended before the death signal was set.
  if (launch.confined && getppid() != launch.parent) _exit(kNeverStarted);
  execve(launch.arguments[0], launch.arguments, launch.environment);
  GiveUp(launch);
}

// The errno that the child wrote when it failed; 0 when the program started.
int ReadFailure(int descriptor) {
  int error_number = 0;
  ssize_t got = 0;
  do {
    got = read(descriptor, &error_number, sizeof error_number);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error_number) ? error_number : 0;
}

StatusOr<pid_t> Fork(Launch& launch) {
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork for", launch.arguments[0]);
  if (pid == 0) BecomeProgram(launch);
  return pid;
}

}  // namespace

StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "make", "a pipe");
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

StatusOr<pid_t> StartChild(const ChildProgram& child) {
  GP_CHECK(child.descriptors.size() < 32, "{} descriptors for a child", child.descriptors.size());
  ASSIGN_OR_RETURN(Pipe failure, MakePipe());
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) return ErrnoStatus(errno, "open", "/dev/null");

  std::vector<std::string> words = {child.program};
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  std::vector<std::string> variables = child.environment.value_or(std::vector<std::string>());
  const std::vector<char*> arguments = Pointers(words);
  const std::vector<char*> environment = Pointers(variables);
  std::vector<int> descriptors = {null.get(), child.output, child.error};
  descriptors.insert(descriptors.end(), child.descriptors.begin(), child.descriptors.end());
  Launch launch{.arguments = arguments.data(),
                .environment = child.environment ? environment.data() : environ,
                .descriptors = std::move(descriptors),
                .failure = failure.write.get(),
                .group = child.group,
                .confined = child.confined,
                .account = child.account,
                .pinned = !child.cores.empty(),
                .cores = CoreSet(child.cores),
                .parent = getpid()};
  ASSIGN_OR_RETURN(const pid_t pid, Fork(launch));
  failure.write.Close();
  const int error_number = ReadFailure(failure.read.get());
  if (error_number == 0) return pid;
  AwaitExit(pid);
  return ErrnoStatus(error_number, "start", child.program);
}

int AwaitExit(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace gp::daemon
