// WorkerSettings: the settings of gp-worker with their defaults; configs/worker.yaml shows every
// key. Values and pure functions; thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "daemon/metrics_settings.h"
#include "daemon/setting.h"

namespace gp::agent {

struct WorkerSettings {
  std::string node_name;     // empty: the host's name
  std::string data_address;  // host on which trainers listen for peers; empty: detected
  int slots = 0;             // CPU slots; 0: one for each core. GPUs add slots of their own
  std::string coordinator = "127.0.0.1:7070";  // HOST:PORT or unix:PATH
  std::string coordinator_ca;                  // empty: the authority that the join token names
  std::string join_token_file;                 // for the first start; empty: this node has joined
  std::chrono::nanoseconds reconnect_max = std::chrono::seconds(2);
  std::string state_dir;                // required
  std::string storage_root;             // required; the same path on every node
  std::vector<std::string> data_roots;  // absolute; beneath which runs may name files
  std::string trainer_program;          // empty: the gp-trainer beside gp-worker
  std::string trainer_user;             // the user that trainers run as; empty: gp-worker's
  int64_t trainer_memory_max = 0;       // bytes; 0: no limit of a trainer's own
  std::vector<std::string> trainer_environment;  // names of more variables that trainers inherit
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  std::chrono::nanoseconds stop_grace = std::chrono::seconds(30);  // ReconcileOptions::save_grace
  std::string gpu_devices = "all";                // or none, or as in CUDA_VISIBLE_DEVICES
  std::string gpu_library = "libnvidia-ml.so.1";  // NVIDIA's management library
  std::string gpu_trainer_program;                // empty: the gp-trainer-cuda beside gp-worker
  std::string nccl_interface;                     // NCCL_SOCKET_IFNAME; empty: NCCL chooses
  std::chrono::nanoseconds gpu_check_interval = std::chrono::seconds(5);
  int telemetry_items_max = 65536;
  bool metrics_public = false;  // metrics_listen may be reached from other machines
  std::string metrics_keys_file;
  std::string metrics_listen = "127.0.0.1:7072";
  std::string tls_certificate;  // this and the next, for metrics_listen; empty: the node's own
  std::string tls_key;
  bool insecure = false;  // no TLS to the coordinator, nor for metrics

  bool operator==(const WorkerSettings&) const = default;
};

// The table of the keys, in the order of the file. Values go to the fields of `settings`.
daemon::Settings SettingsTable(WorkerSettings& settings);

// Checks the settings against each other, and that data_roots are absolute.
Status CheckSettings(const WorkerSettings& settings);

// How the Prometheus endpoint is served.
daemon::MetricsAccess MetricsAccessOf(const WorkerSettings& settings);

}  // namespace gp::agent
