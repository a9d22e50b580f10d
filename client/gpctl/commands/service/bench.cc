// gpctl bench: measures the engine on this machine, using the gp-bench beside gpctl.
#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/service/program_run.h"

namespace gp::gpctl {
namespace {

// gp-bench's own exit codes: 1 failed, 2 usage. Its messages are on stderr already.
StatusOr<ExitCode> ResultOf(int code) {
  if (code == 0) return ExitCode::kOk;
  if (code == 2) return InvalidArgument("gp-bench refused its arguments (its message is above)");
  return Internal("gp-bench failed with exit code {} (its message is above)", code);
}

StatusOr<ExitCode> Bench(std::vector<std::string> arguments, Session& session) {
  if (arguments.empty()) arguments = {"--help"};
  if (session.json()) arguments.insert(arguments.end(), {"-o", "json"});
  std::ostream& out = session.console().out;
  ASSIGN_OR_RETURN(const int code,
                   RunOwnProgram(session.console(), "gp-bench", arguments,
                                 [&out](const std::string& piece) { out << piece << std::flush; }));
  return ResultOf(code);
}

}  // namespace

void AddBenchCommand(CommandSet& commands) {
  const Command command =
      commands.Add("bench", kOtherGroup,
                   "Measure this machine: bench ladder, step, kernels, loader, tune, plan");
  command.AllowTrailingArguments();  // the rest goes to gp-bench
  command.Footer(
      "'gpctl bench' alone lists what can be measured, 'gpctl bench step --help' its flags.");
  commands.Bind(command,
                [command](Session& session) { return Bench(command.Remaining(), session); });
}

}  // namespace gp::gpctl
