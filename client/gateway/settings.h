// GatewaySettings: all settings of gp-gateway, with their defaults; configs/gateway.yaml shows
// every key. Values and functions; thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/metrics_settings.h"
#include "daemon/setting.h"
#include "http/site_check.h"

namespace gp::gateway {

struct GatewaySettings {
  std::string listen = "127.0.0.1:7080";
  int connections_max = 2000;
  std::chrono::nanoseconds stop_grace = std::chrono::seconds(5);
  bool metrics_public = false;  // metrics_listen may be reached from other machines
  std::string metrics_keys_file;
  std::string metrics_listen = "127.0.0.1:7073";
  bool insecure = false;
  std::string tls_certificate;
  std::string tls_key;
  std::string keys_file;
  std::vector<std::string> cors_origins;
  std::vector<std::string> allowed_hosts;
  std::string coordinator;               // empty: no runs are served
  std::string coordinator_ca;            // PEM file; empty: no TLS
  std::string coordinator_token_file;    // empty: no token
  std::vector<std::string> directories;  // NAME=DIR
  std::chrono::nanoseconds scan_period = std::chrono::seconds(2);
  std::string sampler_program;  // empty: the one beside this program
  int sampler_threads = 0;      // of each sampler; 0: all cores that the gateway may use
  int sampler_streams = 32;
  std::string sampler_precision = "auto";
  int64_t sampler_memory_limit = 0;  // bytes, all samplers together; 0: DefaultSamplerMemory
  std::chrono::nanoseconds sampler_start_timeout = std::chrono::minutes(2);
  std::chrono::nanoseconds sampler_stall_timeout = std::chrono::minutes(1);
  int requests_waiting_max = 256;
  std::chrono::nanoseconds request_timeout = std::chrono::minutes(10);
  int64_t body_bytes_max = 10 << 20;
  std::chrono::nanoseconds header_timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds body_timeout = std::chrono::seconds(60);
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(75);
  std::chrono::nanoseconds ping_period = std::chrono::seconds(15);
  bool log_requests = true;

  bool operator==(const GatewaySettings&) const = default;
};

// The table of all keys with their documentation, limits and flags; the slots are in `settings`.
daemon::Settings SettingsTable(GatewaySettings& settings);

// InvalidArgument when settings contradict each other, or when other machines could reach the
// gateway without API keys and TLS (unless insecure). Reads no files.
Status CheckSettings(const GatewaySettings& settings);

// How the Prometheus endpoint is served.
daemon::MetricsAccess MetricsAccessOf(const GatewaySettings& settings);

// The sites whose pages may use the gateway, and the Host names that it accepts. REQUIRES:
// CheckSettings returned OK.
http::SiteRules SiteRulesOf(const GatewaySettings& settings);

// An error unless each of models.directories holds a readable checkpoint. Reads files.
Status CheckModels(const GatewaySettings& settings);

}  // namespace gp::gateway
