// CoordinatorProcess: a real gp-coordinator on its socket, for tests. Belongs to one thread. The
// directories outlive the process, so that a test can kill it and start it again.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "gp/v1/run_service.grpc.pb.h"

namespace gp::coordinator {

class CoordinatorProcess {
 public:
  // `directory` holds state, storage and the address file; `environment` is added.
  explicit CoordinatorProcess(std::string directory, std::vector<std::string> environment = {});
  ~CoordinatorProcess();

  // More flags, such as --listen; for the next start.
  void SetFlags(std::vector<std::string> flags) { flags_ = std::move(flags); }
  // Starts it and waits until it serves, or fails the test.
  void Start();
  // kill -9, and waits until it is gone.
  void Kill();
  // SIGTERM; its exit code.
  int Terminate();

  // Runs it to its end; returns its exit code, and its stderr.
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
