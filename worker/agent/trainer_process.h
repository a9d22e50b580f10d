// TrainerProcess: a running gp-trainer: its process, its link and what it prints. Spawn it from the
// agent's one loop thread, which lives as long as the agent: the kernel kills the trainer when the
// *thread* that forked it exits, so that kill -9 of the agent leaves no orphan. Owned and used by
// that thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "contract/channel.h"
#include "daemon/account.h"
#include "worker/agent/line_splitter.h"

namespace gp::agent {

struct TrainerCommand {
  std::string program;                          // path; no search
  std::vector<std::string> arguments;           // without the program's name
  std::vector<std::string> environment;         // "NAME=value"; nothing else is inherited
  std::vector<int> cores;                       // cores that it may run on; empty: all
  std::optional<daemon::Account> account = {};  // absent: this process' user
};

class TrainerProcess {
 public:
  // Starts it in a process group of its own, without a way to gain privileges and without core
  // dumps; descriptor 3 is its end of the link, its standard input is empty. NotFound or
  // PermissionDenied name the program.
  static StatusOr<std::unique_ptr<TrainerProcess>> Spawn(const TrainerCommand& command,
                                                         const std::string& name);
  // Kills and reaps what still runs.
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  int pid() const { return pid_; }
  // Becomes readable when the process has ended.
  int exit_descriptor() const { return exit_watch_.get(); }
  // The trainer's standard output and error; -1 when they are closed.
  int output_descriptor() const { return output_.get(); }
  link::Channel& channel() { return *channel_; }

  // Sends `signal` to the whole process group. Does nothing after Reap has returned a status.
  void Signal(int signal);

  // The lines printed since the last call, at most about 64 KiB; after Reap the rest, at most
  // 1 MiB, including an unfinished line. A line is cut at 8 KiB. Does not block.
  std::vector<std::string> ReadLines();
  // The last line that ReadLines has returned.
  const std::string& last_line() const { return last_line_; }

  // waitpid's status when the process has ended, else nullopt. Does not block. Kills the rest of
  // its process group.
  std::optional<int> Reap();

 private:
  TrainerProcess(int pid, FileDescriptor exit_watch, FileDescriptor output, FileDescriptor link,
                 const std::string& name);

  const int pid_;
  FileDescriptor exit_watch_;
  FileDescriptor output_;
  std::unique_ptr<link::Channel> channel_;
  LineSplitter splitter_;
  std::string last_line_;
  bool reaped_ = false;
};

}  // namespace gp::agent
