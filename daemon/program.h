// Program: a daemon as its main describes it. Main gives every daemon the same command line,
// settings from file, environment and flags, log, and exit codes; what is left to a daemon is what
// it is: its settings, its metrics, what it runs. Called once, by main, before other threads exist.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/setting.h"

namespace gp::daemon {

// What a daemon runs in.
struct Runtime {
  std::string address_file;  // to be written once it serves; empty: none
};

// A flag that prints something and leaves.
struct Report {
  std::string flag;  // "--print-gpus"
  std::string doc;
  std::function<StatusOr<std::string>()> text;
};

struct Program {
  std::string name;     // "gp-coordinator"
  std::string summary;  // what it does, for --help
  std::string version;
  Settings settings;                     // the slots outlive the program's run
  std::function<Status()> check;         // whether the settings fit together; may be absent
  std::function<std::string()> metrics;  // every metric it exports, for --print-metrics
  std::vector<Report> reports;           // what only this daemon has
  // Serves until it is asked to stop: SIGTERM and SIGINT are blocked (base/stop_signals.h). An
  // error: it could not start, in one line.
  std::function<Status(const Runtime&)> run;
};

// How it was called.
struct Call {
  std::vector<std::string> arguments;    // without the program's name
  std::vector<std::string> environment;  // "NAME=value"
  std::ostream& out;
  std::ostream& err;
};

// The exit code: 0, 1 when it could not run, 2 when arguments or settings are wrong.
int Main(const Program& program, const Call& call);

// With the arguments and the environment of this process.
int Main(const Program& program, int argc, const char* const* argv);

}  // namespace gp::daemon
