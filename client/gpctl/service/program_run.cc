#include "client/gpctl/service/program_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/file.h"

namespace gp::gpctl {
namespace {

// Attributes and file actions of posix_spawn, released together.
class SpawnSettings {
 public:
  SpawnSettings(int output_fd, bool quiet) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output_fd, STDOUT_FILENO);
    if (quiet) posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  StatusOr<pid_t> Spawn(const ProgramRun& run) {
    std::vector<std::string> words = run.arguments;
    words.insert(words.begin(), run.program);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t pid = 0;
    const int error =
        posix_spawn(&pid, run.program.c_str(), &actions_, &attributes_, pointers.data(), environ);
    if (error != 0) return ErrnoStatus(error, "start", run.program);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

void ReadAll(int fd, const std::function<void(const std::string&)>& on_output) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    on_output(std::string(buffer.data(), size));
  }
}

int AwaitExit(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

StatusOr<int> RunProgram(const ProgramRun& run, client::Interruption& interruption,
                         const std::function<void(const std::string&)>& on_output) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe for", run.program);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  ASSIGN_OR_RETURN(const pid_t pid, SpawnSettings(write_end.get(), run.quiet).Spawn(run));
  write_end.Close();
  int code = 0;
  {
    const auto scope = interruption.OnRequest([pid] { kill(pid, SIGKILL); });
    ReadAll(read_end.get(), on_output);
  }
  code = AwaitExit(pid);
  if (interruption.requested()) return Cancelled("interrupted");
  return code;
}

}  // namespace gp::gpctl
