// gpctl sink wandb, mlflow: runs the program gp-sink of the Python package.
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/session/named_runs.h"
#include "client/gpctl/terminal/hint.h"

namespace gp::gpctl {
namespace {

struct SinkOptions {
  std::vector<std::string> runs;
  std::string directory = ".";
  std::string project = "gp";
  std::string server;
  std::string experiment = "gp";
  bool follow = false;
};

constexpr char kSinkProgram[] = "gp-sink";
constexpr std::chrono::seconds kCompleteGrace{60};  // to complete what was begun

StatusOr<std::string> FindSinkProgram(const std::string& tool, const Console& console) {
  const std::string program = FoundOnPath(console, kSinkProgram);
  if (!program.empty()) return program;
  return FailedPrecondition(
      "there is no program '{}' on $PATH; it is part of gp's Python package: run "
      "'python3 -m venv gp-venv && gp-venv/bin/pip install \"./client/python[{}]\"' in gp's "
      "sources, then 'export PATH=$PWD/gp-venv/bin:$PATH'",
      kSinkProgram, tool);
}

// The flags that say which coordinator this invocation talks to.
void AddServiceFlags(const GlobalOptions& options, std::vector<std::string>& arguments) {
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) arguments.push_back(flag + "=" + value);
  };
  add("--server", options.server);
  add("--context", options.context);
  add("--state-dir", options.state_dir);
  add("--namespace", options.run_namespace);
}

StatusOr<ExitCode> RunSink(const std::string& tool, const SinkOptions& options,
                           std::vector<std::string> arguments, Session& session) {
  Console& console = session.console();
  ASSIGN_OR_RETURN(const std::vector<NamedRun> runs, FindRuns(options.runs, session));
  ASSIGN_OR_RETURN(const std::string program, FindSinkProgram(tool, console));
  arguments.insert(arguments.begin(), tool);
  if (options.follow) arguments.emplace_back("--follow");
  AddServiceFlags(session.options(), arguments);
  for (const NamedRun& one : runs) arguments.push_back(one.run.run_id());
  const auto code = RunProgram(
      {.program = program, .arguments = std::move(arguments), .grace = kCompleteGrace},
      console.interruption, [&](const std::string& said) { console.out << said << std::flush; });
  if (code.status().code() == StatusCode::kCancelled) return ExitCode::kOk;
  RETURN_IF_ERROR(code.status());
  return static_cast<ExitCode>(*code);
}

Flag AddSharedOptions(Command command, SinkOptions& options) {
  command.Switch("--follow", options.follow, "go on until the runs have ended");
  return command.Option("RUN", options.runs, "names, ids, unique prefixes of ids, or @last")
      .Required();
}

}  // namespace

void AddSinkCommands(CommandSet& commands) {
  const Command noun =
      commands.Add("sink", kRunGroup, "Write runs to W&B or MLflow, where their packages are");
  auto options = std::make_shared<SinkOptions>();
  const Command wandb = commands.AddWriterVerb(
      noun, "wandb", "Write offline directories of W&B, which 'wandb sync' uploads");
  AddSharedOptions(wandb, *options);
  wandb
      .Option("-o,--output", options->directory, "DIR: DIR/wandb gets a directory for each run (.)")
      .Path();
  wandb.Option("--project", options->project, "project in W&B (gp)").NotEmpty();
  commands.Bind(wandb, [options](Session& session) {
    return RunSink("wandb", *options,
                   {"--output=" + options->directory, "--project=" + options->project}, session);
  });
  const Command mlflow = commands.AddWriterVerb(noun, "mlflow", "Write runs to an MLflow server");
  AddSharedOptions(mlflow, *options);
  mlflow.Option("--to", options->server, "address of the server, http://HOST:5000")
      .NotEmpty()
      .Required();
  mlflow.Option("--experiment", options->experiment, "experiment in MLflow (gp)").NotEmpty();
  commands.Bind(mlflow, [options](Session& session) {
    return RunSink("mlflow", *options,
                   {"--to=" + options->server, "--experiment=" + options->experiment}, session);
  });
}

}  // namespace gp::gpctl
