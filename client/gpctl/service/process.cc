#include "client/gpctl/service/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>

#include "base/file.h"

namespace gp::gpctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{20};
constexpr std::chrono::seconds kKillGrace{5};
constexpr int kExecFailed = 127;

// /proc/<pid>/stat after the command's name, which is in parentheses and may hold anything.
std::vector<std::string> StatFields(const std::string& stat) {
  const size_t close = stat.rfind(')');
  std::vector<std::string> fields;
  if (close == std::string::npos) return fields;
  std::istringstream rest(stat.substr(close + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

std::string ProgramOf(int pid) {
  std::array<char, PATH_MAX> path{};
  const std::string link = fmt::format("/proc/{}/exe", pid);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  std::string program = size > 0 ? std::string(path.data(), size) : "";
  // A program that was rebuilt while it runs is still the same process.
  static constexpr char kDeleted[] = " (deleted)";
  const size_t at = program.rfind(kDeleted);
  if (at != std::string::npos && at + std::strlen(kDeleted) == program.size()) program.erase(at);
  return program;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child between fork and exec: only calls that are safe there. Tells `error_fd` when it
// fails.
[[noreturn]] void BecomeProgram(char* const* arguments, int log_fd, int error_fd) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  if (log_fd >= 0) {
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
  }
  execv(arguments[0], arguments);
  const int error = errno;
  (void)!write(error_fd, &error, sizeof error);
  _exit(kExecFailed);
}

// What the child told before exec closed the pipe; 0 when exec succeeded.
int ReadExecError(int fd) {
  int error = 0;
  ssize_t size = 0;
  do {
    size = read(fd, &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  return size == sizeof error ? error : 0;
}

StatusOr<FileDescriptor> OpenLog(const std::string& path) {
  if (path.empty()) return FileDescriptor();
  FileDescriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoStatus(errno, "open", path);
  return log;
}

bool GoneBy(const ProcessIdentity& identity, steady_clock::time_point deadline) {
  while (IsAlive(identity)) {
    if (steady_clock::now() >= deadline) return false;
    ReapChildren();
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace

StatusOr<ProcessIdentity> IdentifyProcess(int pid) {
  const StatusOr<std::string> stat = ReadFile(fmt::format("/proc/{}/stat", pid), 1 << 16);
  if (!stat.ok()) return NotFound("there is no process {}", pid);
  const std::vector<std::string> fields = StatFields(*stat);
  constexpr size_t kState = 0, kStartTime = 19;  // proc(5), fields 3 and 22
  if (fields.size() <= kStartTime || fields[kState] == "Z" || fields[kState] == "X") {
    return NotFound("there is no process {}", pid);
  }
  return ProcessIdentity{pid, std::stoull(fields[kStartTime]), ProgramOf(pid)};
}

bool IsAlive(const ProcessIdentity& identity) {
  if (identity.pid <= 0) return false;
  const auto now = IdentifyProcess(identity.pid);
  if (!now.ok() || now->start_time != identity.start_time) return false;
  return now->program.empty() || identity.program.empty() || now->program == identity.program;
}

StatusOr<ProcessIdentity> SpawnDetached(const SpawnOptions& options) {
  ASSIGN_OR_RETURN(const FileDescriptor log, OpenLog(options.log_path));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe for", options.program);
  FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), options.program);
  const std::vector<char*> arguments = Pointers(words);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork for", options.program);
  if (pid == 0) BecomeProgram(arguments.data(), log.get(), write_end.get());
  write_end.Close();
  if (const int error = ReadExecError(read_end.get()); error != 0) {
    waitpid(pid, nullptr, 0);
    return ErrnoStatus(error, "start", options.program);
  }
  StatusOr<ProcessIdentity> identity = IdentifyProcess(pid);
  // It may have ended already: whoever watches it learns that next.
  if (!identity.ok()) return ProcessIdentity{pid, 0, options.program};
  return identity;
}

void ReapChildren() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

Status StopProcess(const ProcessIdentity& identity, std::chrono::milliseconds grace) {
  if (!IsAlive(identity)) return OkStatus();
  kill(identity.pid, SIGTERM);
  if (GoneBy(identity, steady_clock::now() + grace)) return OkStatus();
  kill(identity.pid, SIGKILL);
  if (GoneBy(identity, steady_clock::now() + kKillGrace)) return OkStatus();
  return DeadlineExceeded("process {} ({}) does not end, not even by SIGKILL", identity.pid,
                          identity.program);
}

}  // namespace gp::gpctl
