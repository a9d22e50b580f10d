// gpctl bench: measures the engine on this machine, using the gp-bench beside gpctl, and how runs
// go on after faults, using a service of its own.
#include <algorithm>
#include <memory>
#include <random>

#include "base/file.h"
#include "base/machine/processor.h"
#include "base/machine/usable_cores.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/faults/fault_bench.h"
#include "client/gpctl/faults/fault_text.h"
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

std::string MachineText() {
  const Processor processor = ParseProcessor(ReadFile("/proc/cpuinfo").value_or(""));
  return fmt::format("{}, {}", processor.model.empty() ? "unknown processor" : processor.model,
                     CountedNoun(CountUsableCores(), "core"));
}

StatusOr<ExitCode> BenchFaults(const FaultBenchOptions& options, Session& session) {
  Console& console = session.console();
  const auto tell = [&console](const std::string& line) { console.err << line << std::endl; };
  tell(fmt::format("seed {}", options.seed));
  FaultService service(console);
  RETURN_IF_ERROR(service.Start(FaultBench::kAgents, FaultBench::kRanks / FaultBench::kAgents));
  FaultBench bench(service, options, console.clock, console.interruption, tell);
  RETURN_IF_ERROR(bench.Prepare());
  FaultReport report{.machine = MachineText(), .seed = options.seed, .recovery = options.recovery};
  report.gradient_bytes = bench.gradient_bytes();
  ASSIGN_OR_RETURN(report.rows, bench.Run());
  console.out << (session.json() ? Pretty(With("FaultBench", FaultFields(report)))
                                 : FaultTable(report, session.style()));
  const bool equal = std::all_of(report.rows.begin(), report.rows.end(),
                                 [](const FaultRow& row) { return row.weights_equal; });
  return equal ? ExitCode::kOk : ExitCode::kFailure;
}

void AddFaults(CommandSet& commands, Command bench) {
  const Command command = commands.AddVerb(
      bench, "faults", "How fast runs go on after ranks, agents and the coordinator are killed");
  auto options = std::make_shared<FaultBenchOptions>();
  options->seed = std::random_device{}();
  command.Option("--kills", options->kills, "kills of ranks; other faults have fewer (50)")
      .Between(1, 100'000);
  command.Option("--seed", options->seed, "of the random moments and ranks; default: a new one");
  command.Option("--recovery", options->recovery, "stability.recovery of the runs (in_place)")
      .OneOf({"in_place", "restart"});
  command.Footer(
      "Starts a coordinator and two agents of its own in a temporary directory, trains small runs "
      "of four ranks, and removes everything. It takes some minutes; progress is on stderr.");
  commands.Bind(command, [options](Session& session) { return BenchFaults(*options, session); });
}

}  // namespace

void AddBenchCommand(CommandSet& commands) {
  const Command command =
      commands.Add("bench", kOtherGroup,
                   "Measure this machine: bench ladder, step, kernels, loader, tune, plan, faults");
  command.AllowTrailingArguments();  // the rest goes to gp-bench
  command.Footer(
      "'gpctl bench' alone lists what can be measured, 'gpctl bench step --help' its flags. "
      "'gpctl bench faults' measures how runs go on after faults.");
  commands.Bind(command,
                [command](Session& session) { return Bench(command.Remaining(), session); });
  AddFaults(commands, command);
}

}  // namespace gp::gpctl
