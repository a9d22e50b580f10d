#include "integration/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

extern char** environ;

namespace gp::testing {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> FullEnvironment(const std::vector<std::string>& more) {
  std::vector<std::string> all(more);
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// State letter and parent pid of a process; nullopt if it does not exist.
std::optional<std::pair<char, int>> ReadStat(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  int parent = 0;
  rest >> state >> parent;
  return std::pair(state, parent);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, const std::string& log_path) {
  const std::vector<std::string> full = FullEnvironment(environment);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(full);
  const int log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  GP_CHECK(log >= 0, "open {}: errno {}", log_path, errno);
  pid_ = fork();
  GP_CHECK(pid_ >= 0, "fork: errno {}", errno);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, 1);
    dup2(log, 2);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(log);
}

bool Process::Reap(bool block) {
  if (outcome_) return true;
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &status, block ? 0 : WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  outcome_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return true;
}

bool Process::Running() { return !Reap(false); }

void Process::Kill() {
  if (Reap(false)) return;
  kill(pid_, SIGKILL);
  Reap(true);
}

void Process::Signal(int signal) {
  if (!Reap(false)) kill(pid_, signal);
}

std::optional<int> Process::Wait(std::chrono::milliseconds timeout) {
  if (Reap(false)) return outcome_;
  const int watch = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  GP_CHECK(watch >= 0, "pidfd_open {}: errno {}", pid_, errno);
  pollfd entry{watch, POLLIN, 0};
  poll(&entry, 1, static_cast<int>(timeout.count()));
  close(watch);
  Reap(false);
  return outcome_;
}

std::vector<int> ChildrenOf(int pid) {
  std::vector<int> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const int candidate = std::stoi(name);
    const auto stat = ReadStat(candidate);
    if (stat && stat->second == pid && stat->first != 'Z') children.push_back(candidate);
  }
  return children;
}

int64_t PeakMegabytesOf(int pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string name;
  int64_t kilobytes = 0;
  while (file >> name) {
    if (name == "VmHWM:" && file >> kilobytes) return kilobytes / 1024;
    file.ignore(1000, '\n');
  }
  ADD_FAILURE() << "no VmHWM of process " << pid;
  return 0;
}

bool Alive(int pid) {
  const auto stat = ReadStat(pid);
  return stat && stat->first != 'Z' && stat->first != 'X';
}

}  // namespace gp::testing
