// Cluster: a coordinator and workers as real processes in a temporary directory, on ports that the
// kernel chose, and helpers that call the API as a user. Owned by one test and used from its
// thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gp/v1/run_service.grpc.pb.h"
#include "integration/process.h"
#include "lib/base/eventually.h"

namespace gp::testing {

struct ClusterOptions {
  std::string trainer;  // empty: the gp-trainer beside gp-worker
  // The coordinator's settings file (YAML), in addition to its flags. Tests set short waits here.
  std::string coordinator_config;
  std::string listen;        // HOST:PORT for other machines, with TLS; empty: only the Unix socket
  std::string storage_root;  // empty: a folder of the temporary directory
  std::string coordinator_state;
};

// Arguments and environment of one worker.
struct WorkerSetup {
  int slots = 2;
  std::vector<std::string> environment;
  std::string config;        // YAML
  bool gpus = false;         // false: this machine's GPUs are not used
  std::string storage_root;  // empty: the cluster's
  std::string coordinator;   // empty: the cluster's socket
  std::string join_token;    // needed for a coordinator at HOST:PORT
};

class Cluster {
 public:
  explicit Cluster(ClusterOptions options = {});
  // Ends every process; if the test failed, prints the daemons' logs.
  ~Cluster();

  const std::string& directory() const { return directory_; }
  const std::string& storage_root() const { return storage_root_; }

  // Starts the coordinator and waits until it serves.
  void StartCoordinator(const std::vector<std::string>& environment = {});
  Process& coordinator() { return *coordinator_; }
  // Starts a worker and waits until the coordinator has accepted it.
  void StartWorker(const std::string& name, const WorkerSetup& setup = {});
  // Starts a worker without waiting.
  void LaunchWorker(const std::string& name, const WorkerSetup& setup = {});
  Process& worker(const std::string& name) { return *workers_.at(name); }
  // The worker's /metrics page.
  std::string Metrics(const std::string& name) const;

  // The coordinator's address for other machines, HOST:PORT.
  const std::string& listen() const { return listen_; }
  // The coordinator's local address, unix:PATH.
  const std::string& address() const { return address_; }
  v1::RunService::Stub& stub() { return *stub_; }
  // Submits a run and returns its id; fails the test if it is refused.
  std::string Submit(const std::string& run_file, const std::string& request_id = "");
  v1::Run Get(const std::string& run);
  v1::Run Cancel(const std::string& run, bool now = false);
  std::vector<v1::RunEvent> Events(const std::string& run);
  std::vector<v1::MetricPoint> Points(const std::string& run);
  std::vector<v1::LogLine> Lines(const std::string& run);
  std::vector<v1::Checkpoint> Checkpoints(const std::string& run);
  std::vector<v1::Node> Nodes();

  // Polls until the run meets `condition`, also across coordinator restarts, and returns it. Fails
  // the test after `timeout`.
  v1::Run WaitFor(const std::string& run, const std::function<bool(const v1::Run&)>& condition,
                  std::chrono::seconds timeout = kPatience);
  v1::Run WaitForState(const std::string& run, v1::RunState state);
  v1::Run WaitForStep(const std::string& run, int64_t step);
  v1::Run WaitForEnd(const std::string& run);
  // Waits for all points; returns whether the newest checkpoint is of the newest step.
  bool KeptItsLastStep(const std::string& run);

 private:
  void Connect();
  void PrintLogs() const;

  const ClusterOptions options_;
  std::string directory_;
  std::string storage_root_;
  std::string address_;
  std::string listen_;
  std::unique_ptr<Process> coordinator_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
  std::unique_ptr<v1::RunService::Stub> stub_;
};

bool IsTerminal(v1::RunState state);

// The run file for a run of the fake trainer. `labels` is written like "fake-step-ms: '5'"; `more`
// is appended as further lines.
std::string FakeRun(int workers, int steps, const std::string& labels = "",
                    const std::string& more = "");

}  // namespace gp::testing
