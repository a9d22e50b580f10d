// Supervisor: keeps one coordinator, one agent and one gateway, and optionally Prometheus, running
// on this machine from one state directory. A daemon that dies, for example by kill -9, is
// restarted, on the same ports if they are free. It adopts daemons that an earlier supervisor left
// running, but restarts Prometheus. Training does not wait for the gateway and Prometheus: without
// them the service is up, and its record says why. Runs in the foreground of 'gpctl up', or in the
// background process that 'gpctl up --detach' leaves; used by that process's main thread.
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
  std::string program_directory;  // holds gp-coordinator, gp-worker and gp-gateway
  int workers = 0;                // slots; 0: one slot of all cores
  // HOST:PORT where the coordinator serves others, besides the socket that only this user can
  // reach; empty: nowhere.
  std::string listen;
  std::string storage_root;  // absolute; empty: that of the last start, or one in the directory
  bool adopt = false;        // the coordinator accepts the existing storage at its first start
  // Serve `listen` without TLS and tokens, and the gateway to other machines without API keys.
  bool insecure = false;
  // First of the three ports for metrics; the one after them is Prometheus'. 0: the ports of the
  // last start, else free ones.
  int port_base = 0;
  bool gateway = true;
  std::string gateway_listen;           // HOST:PORT; empty: on loopback, with the last port
  bool monitoring = false;              // run Prometheus, on loopback, with the last port
  std::string trainer;                  // path; empty: the one beside gp-worker
  std::string gpu_trainer;              // path; empty: the gp-trainer-cuda beside gp-worker
  std::string gpus;                     // as gp-worker --gpus; empty: all
  std::vector<std::string> data_roots;  // as gp-worker --data-root
  std::chrono::milliseconds start_timeout = std::chrono::seconds(30);  // for each daemon
  // The limit for each daemon to stop. Longer than an agent needs when its trainers use all of
  // their time to save.
  std::chrono::milliseconds stop_grace = std::chrono::seconds(60);
  BackoffOptions restart = {.initial = std::chrono::milliseconds(100),
                            .max = std::chrono::seconds(5)};
};

class Supervisor {
 public:
  // `tell` receives a line for each daemon that died, or could not be started or stopped. The
  // caller holds the lock of `directory`.
  Supervisor(ServiceDirectory directory, SupervisorOptions options,
             client::Interruption& interruption, std::function<void(const std::string&)> tell);

  // Returns OK when coordinator and agent run and the agent has registered. The gateway runs, or
  // record().gateway_problem says why it does not; so does Prometheus if it is wanted. An error
  // message has the last lines of the daemon's log. After an error, daemons that this call started
  // have been stopped, and adopted ones still run; after Cancelled, all have been stopped.
  Status Start();

  // Marks the service as ready for commands that wait for it. Call it after Start, when its
  // contexts are written.
  Status Announce();

  // Runs until the interruption. Then it stops all daemons, the agent before the coordinator,
  // because the agent's trainers save their last step and the coordinator seals it. When the
  // interruption insists, nothing is saved.
  void Run();

  const ServiceRecord& record() const { return record_; }

 private:
  struct Daemon {
    std::string name;     // "coordinator"
    std::string program;  // path
    ProcessIdentity process;
    std::string address;  // from its address file
    std::string metrics;
    std::string listen;    // coordinator only: HOST:PORT for others
    size_t log_begin = 0;  // size of its log when it was started
    bool spawned = false;  // started by this supervisor; otherwise adopted
    int failures = 0;      // failures in a row
    std::chrono::steady_clock::time_point started;
    std::chrono::steady_clock::time_point next_start;
  };

  void ChooseStorage(bool has_runs);
  Status StartAll();
  Status StartGateway();
  Status StartMonitoring();
  Status AwaitMonitoring();
  bool GatewayIsWanted() const;
  void ReviveGateway();
  void ReviveMonitoring();
  Status StartDaemon(Daemon& daemon);
  void Adopt(Daemon& daemon);
  Status AwaitAddress(Daemon& daemon);
  Status AwaitNode();
  void Revive(Daemon& daemon);
  void Restart(Daemon& daemon);
  enum class Which { kAll, kSpawned };
  void Stop(Which which);
  Status Save();
  ProcessIdentity& Recorded(const Daemon& daemon);
  std::vector<std::string> GatewayArguments() const;
  std::string DataAddress() const;
  void RememberPorts();
  void RememberSlots(const v1::Node& node);
  std::vector<std::string> Arguments(const Daemon& daemon) const;
  std::string MetricsAddress(const std::string& previous, int offset) const;
  Status DiedAtStart(const Daemon& daemon) const;

  const ServiceDirectory directory_;
  const SupervisorOptions options_;
  bool adopt_;  // options_.adopt until the coordinator has started, then false
  client::Interruption& interruption_;
  const std::function<void(const std::string&)> tell_;
  ServiceRecord record_;
  Daemon coordinator_;
  Daemon worker_;
  Daemon gateway_;
  Daemon monitoring_;
};

}  // namespace gp::gpctl
