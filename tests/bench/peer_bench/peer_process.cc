#include "bench/peer_bench/peer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

extern char** environ;

namespace gp::engine {
namespace {

// Long, because a peer may compile itself first.
constexpr std::chrono::seconds kStartTimeout(600);
constexpr std::chrono::seconds kStepTimeout(120);
// Limit for a peer to exit when its input ends, and again after SIGTERM.
constexpr std::chrono::seconds kLeaveTimeout(5);

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create", "a pipe");
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

StatusOr<int> Spawn(const std::vector<std::string>& command, int input, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.data()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "start", command[0]);
  return pid;
}

// Returns true if the child ends within `timeout`; it still has to be reaped.
bool EndsWithin(pid_t pid, std::chrono::milliseconds timeout) {
  const FileDescriptor watch(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd entry{watch.get(), POLLIN, 0};
  return watch.valid() && poll(&entry, 1, static_cast<int>(timeout.count())) == 1;
}

}  // namespace

StatusOr<PeerProcess> PeerProcess::Start(const std::vector<std::string>& command) {
  signal(SIGPIPE, SIG_IGN);
  ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  PeerProcess peer;
  ASSIGN_OR_RETURN(peer.pid_, Spawn(command, input.read.get(), output.write.get()));
  peer.input_ = std::move(input.write);
  peer.output_ = std::move(output.read);
  output.write.Close();
  ASSIGN_OR_RETURN(const std::string line, peer.ReadLine(kStartTimeout));
  const auto ready = nlohmann::json::parse(line, nullptr, false);
  if (!ready.is_object() || !ready.contains("ready")) {
    return FailedPrecondition("the peer said '{}' instead of being ready", line);
  }
  peer.description_ = ready.at("ready").get<std::string>();
  return peer;
}

PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      buffered_(std::move(other.buffered_)),
      description_(std::move(other.description_)) {}

PeerProcess::~PeerProcess() {
  if (pid_ < 0) return;
  input_.Close();
  output_.Close();
  if (!EndsWithin(pid_, kLeaveTimeout)) {
    kill(pid_, SIGTERM);
    if (!EndsWithin(pid_, kLeaveTimeout)) kill(pid_, SIGKILL);
  }
  waitpid(pid_, nullptr, 0);
}

StatusOr<std::vector<double>> PeerProcess::RunSteps(int steps) {
  RETURN_IF_ERROR(WriteAll(input_.get(), fmt::format("{}\n", steps), "the peer's input"));
  ASSIGN_OR_RETURN(const std::string line, ReadLine(kStepTimeout * steps));
  const auto answer = nlohmann::json::parse(line, nullptr, false);
  if (!answer.is_object() || !answer.contains("ms")) {
    return FailedPrecondition("the peer answered '{}' to a request for {} steps", line, steps);
  }
  return answer.at("ms").get<std::vector<double>>();
}

StatusOr<std::string> PeerProcess::ReadLine(std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (buffered_.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{output_.get(), POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      return DeadlineExceeded("the peer said nothing for {} s", timeout.count());
    }
    char chunk[4096];
    const ssize_t count = read(output_.get(), chunk, sizeof(chunk));
    if (count <= 0) {
      return Unavailable("the peer ended early; its own error is above (see tests/bench/peers)");
    }
    buffered_.append(chunk, static_cast<size_t>(count));
  }
  const size_t end = buffered_.find('\n');
  std::string line = buffered_.substr(0, end);
  buffered_.erase(0, end + 1);
  return line;
}

}  // namespace gp::engine
