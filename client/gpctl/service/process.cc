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
#include "base/scoped_umask.h"
#include "daemon/child_process.h"

namespace gp::gpctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kEndPoll{20};
constexpr std::chrono::seconds kKillGrace{5};

// The fields of /proc/<pid>/stat after the command's name. The name is in parentheses and may
// contain spaces and parentheses itself.
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
  // Ignore this mark: if the executable is rebuilt while it runs, the process is still the same.
  static constexpr char kDeleted[] = " (deleted)";
  const size_t at = program.rfind(kDeleted);
  if (at != std::string::npos && at + std::strlen(kDeleted) == program.size()) program.erase(at);
  return program;
}

StatusOr<FileDescriptor> OpenLog(const std::string& path) {
  if (path.empty()) return FileDescriptor();
  FileDescriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoStatus(errno, "open", path);
  return log;
}

using Processes = std::vector<ProcessIdentity>;

// Waits until all processes have ended, at most until the deadline. Returns those that still exist.
// Sends SIGINT to them once when hurried() becomes true.
Processes AliveAt(steady_clock::time_point deadline, Processes processes,
                  const std::function<bool()>& hurried) {
  bool told = false;
  while (true) {
    std::erase_if(processes, [](const ProcessIdentity& process) { return !IsAlive(process); });
    if (processes.empty() || steady_clock::now() >= deadline) return processes;
    if (!told && hurried()) {
      for (const ProcessIdentity& process : processes) kill(process.pid, SIGINT);
      told = true;
    }
    ReapChildren();
    std::this_thread::sleep_for(kEndPoll);
  }
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

bool HasArgument(int pid, const std::string& argument) {
  const auto command = ReadFile(fmt::format("/proc/{}/cmdline", pid), 1 << 20);
  if (!command.ok()) return false;
  std::istringstream words(*command);
  for (std::string word; std::getline(words, word, '\0');) {
    if (word == argument) return true;
  }
  return false;
}

StatusOr<ProcessIdentity> SpawnDetached(const SpawnOptions& options) {
  ASSIGN_OR_RETURN(const FileDescriptor log, OpenLog(options.log_path));
  const ScopedUmask owner_only(077);  // only this user can read the service's files
  ASSIGN_OR_RETURN(const pid_t pid, daemon::StartChild({.program = options.program,
                                                        .arguments = options.arguments,
                                                        .output = log.get(),
                                                        .error = log.get(),
                                                        .group = daemon::ChildGroup::kSession}));
  StatusOr<ProcessIdentity> identity = IdentifyProcess(pid);
  // The process may have ended already; the code that watches it will find out.
  if (!identity.ok()) return ProcessIdentity{pid, 0, options.program};
  return identity;
}

void ReapChildren() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

Status StopProcess(const ProcessIdentity& identity, std::chrono::milliseconds grace,
                   const std::function<bool()>& hurried) {
  return StopProcesses({identity}, grace, hurried);
}

Status StopProcesses(const Processes& identities, std::chrono::milliseconds grace,
                     const std::function<bool()>& hurried) {
  Status status;
  Processes told;
  for (const ProcessIdentity& process : identities) {
    if (!IsAlive(process)) continue;
    if (kill(process.pid, SIGTERM) == 0 || errno != EPERM) {
      told.push_back(process);
    } else if (status.ok()) {
      status =
          PermissionDenied("process {} ({}) belongs to another user", process.pid, process.program);
    }
  }
  const Processes late = AliveAt(steady_clock::now() + grace, told, hurried);
  for (const ProcessIdentity& process : late) kill(process.pid, SIGKILL);
  const Processes left = AliveAt(steady_clock::now() + kKillGrace, late, [] { return false; });
  if (left.empty() || !status.ok()) return status;
  return DeadlineExceeded("process {} ({}) does not end, even after SIGKILL", left[0].pid,
                          left[0].program);
}

}  // namespace gp::gpctl
