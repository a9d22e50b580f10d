// CoordinatorSettings: the settings of gp-coordinator with their defaults; settings.cc has the key,
// the meaning and the limits of each, configs/coordinator.yaml shows every key. Values and pure
// functions; thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/metrics_settings.h"
#include "daemon/setting.h"

namespace gp::coordinator {

struct CoordinatorSettings {
  std::string socket;                  // path; empty: coordinator.sock in state_dir
  std::string listen;                  // HOST:PORT with TLS; empty: only the Unix socket
  std::vector<std::string> advertise;  // more hosts that a certificate made in state_dir names
  bool metrics_public = false;         // metrics_listen may be reached from other machines
  std::string metrics_keys_file;
  std::string metrics_listen = "127.0.0.1:7071";
  bool insecure = false;        // listen and metrics_listen without TLS, also for other machines
  std::string tls_certificate;  // this and tls_key; empty: made in state_dir
  std::string tls_key;
  std::string tls_client_ca;
  std::chrono::nanoseconds tls_lifetime = std::chrono::hours(24 * 90);
  std::string state_dir;       // required
  std::string storage_root;    // required; agents must see it under the same path
  bool adopt_storage = false;  // for this start only: accept the existing storage
  std::chrono::nanoseconds lease = std::chrono::seconds(10);
  std::chrono::nanoseconds report_interval = std::chrono::seconds(1);
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  std::chrono::nanoseconds finish_timeout = std::chrono::seconds(30);
  bool encrypt_gradients = false;
  int64_t points_bytes_max = int64_t{256} << 20;
  int64_t lines_bytes_max = int64_t{64} << 20;
  int calls_per_second = 100;       // of each token; a burst of twice as many after a pause
  int streams_per_token = 64;       // open at a time
  int runs_per_user = 1000;         // unfinished runs of each user name
  int waiting_runs_per_user = 500;  // unfinished runs of each user name that wait for slots
  int64_t audit_keep_bytes = int64_t{1} << 30;
  // What happens to runs that have ended (scheduler/ended_runs.h); 0: nothing.
  std::chrono::nanoseconds ended_runs_age{0};
  int ended_runs_count = 0;
  double disk_watermark = 0;
  std::string notification_targets_file;  // empty: no notifications

  bool operator==(const CoordinatorSettings&) const = default;
};

// The table of the keys, in the order of the file. Values go to the fields of `settings`.
daemon::Settings SettingsTable(CoordinatorSettings& settings);

// Checks the settings against each other.
Status CheckSettings(const CoordinatorSettings& settings);

// How the Prometheus endpoint is served.
daemon::MetricsAccess MetricsAccessOf(const CoordinatorSettings& settings);

}  // namespace gp::coordinator
