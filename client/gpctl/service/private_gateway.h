// PrivateGateway: a gp-gateway that this gpctl starts for one checkpoint and stops at its end. It
// needs no coordinator. Owned and used by gpctl's main thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "client/api/interruption.h"

namespace gp::gpctl {

struct PrivateGatewayOptions {
  std::string program;  // path of gp-gateway
  std::string model;    // name of the checkpoint
  // A checkpoint's directory, or a run's: then its newest checkpoint.
  std::string directory;
  std::string listen = "127.0.0.1:0";  // HOST:PORT
  bool insecure = false;               // `listen` may be reached from other machines
  std::string precision;               // as gp-gateway --precision; empty: the gateway's default
  int threads = 0;                     // 0: the gateway's default
  bool quiet = false;  // its log is not shown, except the end of it if it ends by itself
  std::chrono::milliseconds start_timeout = std::chrono::seconds(30);
  std::chrono::milliseconds stop_grace = std::chrono::seconds(10);
};

class PrivateGateway {
 public:
  // Returns when the gateway serves. NotFound when the program is missing; Internal when it ended;
  // DeadlineExceeded after start_timeout; both with the end of its log if `quiet`. Cancelled when
  // interrupted.
  static StatusOr<std::unique_ptr<PrivateGateway>> Start(const PrivateGatewayOptions& options,
                                                         client::Interruption& interruption);
  // Stops the gateway: SIGTERM, and SIGKILL after stop_grace.
  ~PrivateGateway();
  PrivateGateway(const PrivateGateway&) = delete;
  PrivateGateway& operator=(const PrivateGateway&) = delete;

  const std::string& address() const { return address_; }  // HOST:PORT
  const std::string& model() const { return options_.model; }
  pid_t pid() const { return pid_; }

  // Waits for the interruption and returns OK; Internal when the gateway ended by itself.
  Status Await(client::Interruption& interruption);

 private:
  explicit PrivateGateway(PrivateGatewayOptions options) : options_(std::move(options)) {}
  Status Spawn();
  Status AwaitAddress(client::Interruption& interruption);
  bool HasEnded();
  void Stop();
  std::string LastWords() const;

  const PrivateGatewayOptions options_;
  std::string scratch_;  // directory with its address file and log
  std::string address_;
  pid_t pid_ = 0;
};

}  // namespace gp::gpctl
