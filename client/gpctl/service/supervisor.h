// Supervisor: keeps one coordinator and one agent running on this machine, out of one state
// directory. A daemon that dies is started again on the same ports, so that kill -9 of either heals
// by itself. It adopts daemons that an earlier supervisor left running. Lives in the foreground of
// 'gpctl up', or in the background process that 'gpctl up --detach' leaves; used by that process's
// main thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/status.h"
#include "client/api/interruption.h"
#include "client/gpctl/service/service_directory.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

struct SupervisorOptions {
  std::string program_directory;  // holds gp-coordinator and gp-worker
  int workers = 0;                // slots; 0: one slot of all cores
  std::string listen;  // HOST:PORT of the coordinator; empty: a socket that only this user reaches
  bool insecure = false;  // `listen` may be reached from other machines
  int port_base = 0;      // of the two ports for metrics. 0: those of the last time, else free ones
  std::string trainer;    // program; empty: the one beside gp-worker
  std::string gpu_trainer;  // program; empty: the gp-trainer-cuda beside gp-worker
  std::string gpus;         // as gp-worker --gpus; empty: all
  std::chrono::milliseconds start_timeout = std::chrono::seconds(30);
  // For each daemon. More than an agent takes whose trainers use all of their time to save.
  std::chrono::milliseconds stop_grace = std::chrono::seconds(60);
  BackoffOptions restart = {.initial = std::chrono::milliseconds(100),
                            .max = std::chrono::seconds(5)};
};

class Supervisor {
 public:
  // `tell` gets a line for each daemon that died or was started again. `directory` is locked by the
  // caller.
  Supervisor(ServiceDirectory directory, SupervisorOptions options,
             client::Interruption& interruption, std::function<void(const std::string&)> tell);

  // Both daemons run and the agent has registered. On an error whatever was started has been
  // stopped again, and the message holds the last words of the daemon's log.
  Status Start();

  // Tells everyone who waits for this service that it is ready. After Start, once its contexts are
  // written.
  Status Announce();

  // Until the interruption; then both are stopped, the agent first: its trainers save their last
  // step, which the coordinator seals. When the interruption insists, nothing is saved.
  void Run();

  const ServiceRecord& record() const { return record_; }

 private:
  struct Daemon {
    std::string name;     // "coordinator"
    std::string program;  // path
    ProcessIdentity process;
    std::string address;  // of its address file
    std::string metrics;
    int failures = 0;  // in a row
    std::chrono::steady_clock::time_point started;
    std::chrono::steady_clock::time_point next_start;
  };

  Status StartBoth();
  Status StartDaemon(Daemon& daemon);
  void Adopt(Daemon& daemon);
  Status AwaitAddress(Daemon& daemon);
  Status AwaitNode();
  void Revive(Daemon& daemon);
  void Restart(Daemon& daemon);
  void Stop();
  Status Save();
  void RememberPorts();
  void RememberSlots(const v1::Node& node);
  std::vector<std::string> Arguments(const Daemon& daemon) const;
  std::string CoordinatorAddress() const;
  std::string MetricsAddress(const std::string& previous, int offset) const;
  Status DiedAtStart(const Daemon& daemon) const;

  const ServiceDirectory directory_;
  const SupervisorOptions options_;
  client::Interruption& interruption_;
  const std::function<void(const std::string&)> tell_;
  ServiceRecord record_;
  Daemon coordinator_;
  Daemon worker_;
};

}  // namespace gp::gpctl
