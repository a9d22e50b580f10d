#include "worker/bench/bench_program.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>

#include "base/standard_output.h"

namespace gp::engine {
namespace {

int Fail(const BenchProgram& program, const std::string& message, int code) {
  fmt::print(stderr, "{}: {}\n", program.name, message);
  return code;
}

// Sets the default of --device for a command that has the flag.
void SetDefaultDevice(Command command, const std::string& device) {
  if (const auto flag = command.Find("--device")) flag->Default(device);
}

int Main(const BenchProgram& program, int argc, char** argv) {
  const CommandLine line("Measures gp's training engine on this machine.", program.name);
  line.root().Version(program.name + " " + program.version);
  line.root().RequireOneCommand();
  std::map<std::string, BenchRun> runs;
  for (const BenchCommand& command : program.commands) {
    const Command added = line.root().AddCommand(command.name, command.summary);
    runs[command.name] = command.add(added);
    SetDefaultDevice(added, program.default_device);
  }
  if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
  const Status status = runs.at(line.Given())();
  if (status.ok()) return 0;
  return Fail(program, Message(status), status.code() == StatusCode::kInvalidArgument ? 2 : 1);
}

int RunAtEdge(const BenchProgram& program, int argc, char** argv) {
  try {
    return Main(program, argc, argv);
  } catch (const std::invalid_argument& error) {
    return Fail(program, error.what(), 2);
  } catch (const std::exception& error) {
    // fmt::print throws when it cannot write; StandardOutput has the reason.
    return std::ferror(stdout) != 0 ? 1 : Fail(program, error.what(), 1);
  }
}

}  // namespace

int RunBenchProgram(const BenchProgram& program, int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  StandardOutput output;
  return output.Finish(program.name, RunAtEdge(program, argc, argv));
}

}  // namespace gp::engine
