// CoordinatorSettings: what configs/coordinator.yaml and the flags of gp-coordinator decide. Flags
// win over the file, the file over the defaults. Values and pure functions; thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"

namespace gp::coordinator {

struct CoordinatorSettings {
  std::string listen = "127.0.0.1:7070";  // loopback: there is no authentication yet
  std::string metrics_listen = "127.0.0.1:7071";
  std::string state_dir;     // required
  std::string storage_root;  // required; agents must see it under the same path
  std::chrono::nanoseconds lease = std::chrono::seconds(10);
  std::chrono::nanoseconds report_interval = std::chrono::seconds(1);
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  std::chrono::nanoseconds finish_timeout = std::chrono::seconds(30);
  int64_t points_bytes_max = int64_t{256} << 20;
  int64_t lines_bytes_max = int64_t{64} << 20;

  bool operator==(const CoordinatorSettings&) const = default;
};

// Sets what `text` (YAML) says. Every problem with its place; `settings` is half-set when there are
// any.
std::vector<ConfigProblem> ReadSettings(std::string_view text, std::string_view source,
                                        CoordinatorSettings& settings);

// The keys of the file in order, "server.listen" and so on.
std::vector<std::string> SettingKeys();

}  // namespace gp::coordinator
