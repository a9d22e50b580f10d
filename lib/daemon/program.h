// Program: describes a daemon. Main gives every daemon the same command line, the same settings
// from file, environment and flags, the same log and exit codes. A daemon adds its own settings,
// metrics and work. Called once, by main, before other threads exist.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/setting.h"

namespace gp::daemon {

// What Main passes to a daemon's `run`.
struct Runtime {
  std::string address_file;  // to be written once it serves; empty: none
};

// A flag for one start, which no settings file and no variable can set.
struct Switch {
  std::string flag;  // "--adopt"
  std::string doc;
  bool* is_set;
};

// A flag that prints something and ends the program.
struct Report {
  std::string flag;  // "--print-gpus"
  std::string doc;
  std::function<StatusOr<std::string>()> text;
};

// A flag with a path that does one thing, without serving, and ends the program.
struct PathAction {
  std::string flag;        // "--backup"
  std::string value_name;  // "DIR"
  std::string doc;
  // Called with the flag's value once the settings are read. Returns what is printed.
  std::function<StatusOr<std::string>(const std::string& value)> run;
};

struct Program {
  std::string name;     // "gp-coordinator"
  std::string summary;  // what it does, for --help
  std::string version;
  Settings settings;                     // the slots outlive the program's run
  std::function<Status()> check;         // checks the settings against each other; may be absent
  std::vector<Switch> switches;          // what only this daemon can be told at a start
  std::function<std::string()> metrics;  // every metric it exports, for --print-metrics
  std::vector<Report> reports;           // what only this daemon has
  std::vector<PathAction> actions;       // what only this daemon does besides serving
  // Serves until SIGTERM or SIGINT, which are blocked (base/stop_signals.h). An error tells in one
  // line why the daemon could not start.
  std::function<Status(const Runtime&)> run;
};

// How the program was called.
struct Call {
  std::vector<std::string> arguments;    // without the program's name
  std::vector<std::string> environment;  // "NAME=value"
  std::ostream& out;
  std::ostream& err;
};

// The exit code: 0, 1 when it could not run or an action failed, 2 when arguments or settings are
// wrong.
int Main(const Program& program, const Call& call);

// With the arguments and the environment of this process.
int Main(const Program& program, int argc, const char* const* argv);

}  // namespace gp::daemon
