// WorkerSettings: what configs/worker.yaml and the flags of gp-worker decide. Flags win over the
// file, the file over the defaults. Values and pure functions, thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"

namespace gp::agent {

struct WorkerSettings {
  std::string node_name;                       // empty: the host's name
  std::string data_address = "127.0.0.1";      // host on which trainers listen for their peers
  int slots = 0;                               // 0: one for each core
  std::string coordinator = "127.0.0.1:7070";  // HOST:PORT
  std::chrono::nanoseconds reconnect_max = std::chrono::seconds(2);
  std::string state_dir;        // required
  std::string storage_root;     // required; the same path on every node
  std::string trainer_program;  // empty: gp-trainer beside gp-worker
  std::vector<std::string>
      trainer_environment;  // names of variables handed on, beside the usual ones
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  std::chrono::nanoseconds stop_grace = std::chrono::seconds(2);
  std::string gpu_devices = "all";                // or none, or as in CUDA_VISIBLE_DEVICES
  std::string gpu_library = "libnvidia-ml.so.1";  // NVIDIA's management library
  std::string gpu_trainer_program;                // empty: gp-trainer-cuda beside gp-worker
  std::string nccl_interface;                     // NCCL_SOCKET_IFNAME; empty: NCCL chooses
  std::chrono::nanoseconds gpu_check_interval = std::chrono::seconds(5);
  int telemetry_items_max = 65536;
  std::string metrics_listen = "127.0.0.1:7072";

  bool operator==(const WorkerSettings&) const = default;
};

// Sets what `text` (YAML) says. Every problem with its place; `settings` is half-set when there are
// any.
std::vector<ConfigProblem> ReadSettings(std::string_view text, std::string_view source,
                                        WorkerSettings& settings);

// The keys of the file in order, "node.name" and so on.
std::vector<std::string> SettingKeys();

}  // namespace gp::agent
