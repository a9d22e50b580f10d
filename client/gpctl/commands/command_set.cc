#include "client/gpctl/commands/command_set.h"

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {

namespace {

// Global flags may come before or after the command. They are added to each command instead of
// "falling through" to the program, because otherwise a run called "list" could not be named: CLI11
// would take it for the command.
void AddGlobalFlags(Command command, GlobalOptions& options, const std::string& group,
                    bool with_output = true) {
  const auto add = [&](const std::string& name, std::string& value, const std::string& text) {
    return command.Option(name, value, text).Group(group);
  };
  add("--server", options.server, "address of the coordinator, HOST:PORT or unix:PATH").NotEmpty();
  add("--context", options.context, "named context of the configuration file").NotEmpty();
  add("--state-dir", options.state_dir, "state directory of a local service (see gpctl up)").Path();
  add("--namespace", options.run_namespace, "namespace of the runs that are named or listed")
      .NotEmpty();
  if (with_output) {
    add("-o,--output", options.output, "text or json; for a JobSet yaml")
        .OneOf({"text", "json", "yaml"});
  }
  add("--timeout", options.timeout, "longest wait for an answer, such as 15s");
  command.Switch("--no-color", options.no_color, "plain output without escape sequences")
      .Group(group);
}

}  // namespace

CommandSet::CommandSet(Command program, GlobalOptions& options)
    : program_(program), options_(options) {
  AddGlobalFlags(program, options, "Flags for every command");
}

Command CommandSet::Add(const std::string& name, const std::string& group,
                        const std::string& summary) {
  const Command command = program_.AddCommand(name, summary);
  command.Group(group);
  AddGlobalFlags(command, options_, "Flags for every command");
  return command;
}

Command CommandSet::AddWriter(const std::string& name, const std::string& group,
                              const std::string& summary) {
  const Command command = program_.AddCommand(name, summary);
  command.Group(group);
  AddGlobalFlags(command, options_, "Flags for every command", false);
  return command;
}

Command CommandSet::AddVerb(Command noun, const std::string& name, const std::string& summary) {
  const Command command = noun.AddCommand(name, summary);
  AddGlobalFlags(command, options_, "Flags for every command");
  return command;
}

Command CommandSet::AddWriterVerb(Command noun, const std::string& name,
                                  const std::string& summary) {
  const Command command = noun.AddCommand(name, summary);
  AddGlobalFlags(command, options_, "Flags for every command", false);
  return command;
}

const Action* CommandSet::Find(Command command) const {
  const auto found = actions_.find(command);
  return found == actions_.end() ? nullptr : &found->second;
}

std::string HelpOf(Command command) {
  std::string path;
  for (auto at = command.Parent(); at.has_value(); at = at->Parent()) {
    path = at->Name() + (path.empty() ? "" : " ") + path;
  }
  return command.Help(path);
}

void AddAllCommands(CommandSet& commands) {
  AddServiceCommands(commands);
  AddDemoCommand(commands);
  AddDoctorCommand(commands);
  AddInitCommand(commands);
  AddRunFileCommands(commands);
  AddDataCommands(commands);
  AddSubmitCommand(commands);
  AddRunCommand(commands);
  AddSweepCommands(commands);
  AddListCommand(commands);
  AddStatusCommands(commands);
  AddWatchCommand(commands);
  AddTopCommand(commands);
  AddStreamCommands(commands);
  AddPlotCommand(commands);
  AddCompareCommand(commands);
  AddTensorBoardCommand(commands);
  AddWaitCommand(commands);
  AddCancelCommand(commands);
  AddDeleteCommand(commands);
  AddDiskUsageCommand(commands);
  AddPauseCommands(commands);
  AddResizeCommand(commands);
  AddContinueCommands(commands);
  AddForkCommand(commands);
  AddLineageCommand(commands);
  AddAnnotateCommands(commands);
  AddWorkersCommand(commands);
  AddCheckpointCommands(commands);
  AddSampleCommand(commands);
  AddEvalCommand(commands);
  AddChatCommand(commands);
  AddServeCommand(commands);
  AddImportCommand(commands);
  AddExportCommand(commands);
  AddBenchCommand(commands);
  AddLoginCommand(commands);
  AddContextCommands(commands);
  AddTokenCommands(commands);
  AddAuditCommands(commands);
  AddNotifyCommands(commands);
  AddVersionCommand(commands);
  AddHelpCommand(commands);
  AddCompletionCommand(commands);
}

}  // namespace gp::gpctl
