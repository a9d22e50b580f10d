// CoordinatorProcess: a real gp-coordinator on its Unix socket, for tests. Not thread-safe. Its
// directories outlive the process, so a test can kill it and start it again.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "gp/v1/run_service.grpc.pb.h"

namespace gp::coordinator {

class CoordinatorProcess {
 public:
  // `directory` holds the state, the storage and the address file; `environment` is added to the
  // process's environment.
  explicit CoordinatorProcess(std::string directory, std::vector<std::string> environment = {});
  ~CoordinatorProcess();

  // Sets more flags, such as --listen, for the next start.
  void SetFlags(std::vector<std::string> flags) { flags_ = std::move(flags); }
  // Starts the process and waits until it serves; fails the test if it does not.
  void Start();
  // Sends SIGKILL and waits until the process has ended.
  void Kill();
  // Sends SIGTERM and returns the exit code.
  int Terminate();
  // Waits until the process has ended by itself. Returns its exit code, or 128 + the signal that
  // ended it.
  int WaitForEnd();

  // Starts the process and waits until it ends; returns its exit code and its stderr.
  int RunToEnd(std::string& error_output);

  const std::string& address() const { return address_; }
  std::string state_dir() const;
  std::string storage_root() const;
  std::unique_ptr<v1::RunService::Stub> NewStub() const;

 private:
  pid_t Spawn(const std::string& error_path) const;

  std::string directory_;
  std::vector<std::string> flags_;
  std::vector<std::string> environment_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace gp::coordinator
