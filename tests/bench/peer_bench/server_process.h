// ServerProcess: a program that serves HTTP on this machine while a bench measures it. It ends when
// the object is destroyed, and when the bench ends or is killed. One thread calls.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::engine {

class ServerProcess {
 public:
  // Its standard output and error go to the file `log`.
  static StatusOr<ServerProcess> Start(const std::string& program,
                                       const std::vector<std::string>& arguments,
                                       const std::string& log);

  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;
  ~ServerProcess();

  // Waits for the file `path`, which the server writes when it listens, and returns the port in it.
  StatusOr<uint16_t> AwaitAddressFile(const std::string& path, std::chrono::seconds timeout);
  // Waits until GET `path` is answered 200. The error carries the end of the log.
  Status AwaitHealthy(uint16_t port, const std::string& path, std::chrono::seconds timeout);

  // The process' resident memory now, without its children's.
  int64_t ResidentBytes() const;

 private:
  ServerProcess(pid_t pid, std::string log) : pid_(pid), log_(std::move(log)) {}
  Status CheckAlive() const;

  pid_t pid_;
  std::string log_;
};

// A port of 127.0.0.1 that nothing listens on.
StatusOr<uint16_t> FindFreePort();

}  // namespace gp::engine
