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

// The arguments of a daemon's `run`.
struct Runtime {
  std::string address_file;  // written once it serves; empty: none
};

// A flag for a single start, which no settings file or variable can set.
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
  // Called with the flag's value once the settings are read. Returns the text to print.
  std::function<StatusOr<std::string>(const std::string& value)> run;
};

struct Program {
  std::string name;     // "gp-coordinator"
  std::string summary;  // summary for --help
  std::string version;
  Settings settings;                     // the slots must outlive the program's run
  std::function<Status()> check;         // checks the settings against each other; may be absent
  std::vector<Switch> switches;          // flags of this daemon only
  std::function<std::string()> metrics;  // every metric it exports, for --print-metrics
  std::vector<Report> reports;           // reports of this daemon only
  std::vector<PathAction> actions;       // further tasks of this daemon only
  // Serves until SIGTERM or SIGINT, which are blocked (base/stop_signals.h). An error says in one
  // line why the daemon could not start.
  std::function<Status(const Runtime&)> run;
};

// The program's invocation.
struct Call {
  std::vector<std::string> arguments;    // without the program's name
  std::vector<std::string> environment;  // "NAME=value"
  std::ostream& out;
  std::ostream& err;
};

// The exit code: 0; 1 when the daemon could not start, or an action or a report failed; 2 when
// arguments or settings are wrong. An error of Program::check gives the code of its status
// (base/exit_code.h), which is 2 for InvalidArgument.
int Main(const Program& program, const Call& call);

// The same with the arguments and the environment of this process.
int Main(const Program& program, int argc, const char* const* argv);

}  // namespace gp::daemon
