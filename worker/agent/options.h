// The command line of gp-worker. Pure but for reading the configuration file; called once at start.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "worker/agent/settings.h"

namespace gp::agent {

struct WorkerOptions {
  WorkerSettings settings;
  std::string address_file;  // empty: none is written
  bool check_config = false;
  bool print_metrics = false;
  bool print_gpus = false;
};

// Exit codes of gp-worker.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;

// The options, or the code to exit with after --help, --version, or a mistake that was told on
// `err`.
struct ParsedOptions {
  std::optional<WorkerOptions> options;
  int exit_code = kExitOk;
};
ParsedOptions ParseOptions(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace gp::agent
