#include "client/gpctl/command_set.h"

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {

namespace {

// Global flags may stand before or after the command. They are added to each command instead of
// "falling through" to the program, because then a run called "list" could not be named: CLI11
// would take it for the command.
void AddGlobalFlags(CLI::App& app, GlobalOptions& options, const std::string& group) {
  const auto add = [&](const std::string& name, std::string& value, const std::string& text) {
    return app.add_option(name, value, text)->group(group);
  };
  add("--server", options.server, "coordinator to talk to, HOST:PORT");
  add("--context", options.context, "named context of the configuration file");
  add("--state-dir", options.state_dir, "state directory of a local service (see gpctl up)");
  add("-o,--output", options.output, "text or json")->check(CLI::IsMember({"text", "json"}));
  add("--timeout", options.timeout, "longest wait for an answer, such as 15s");
  app.add_flag("--no-color", options.no_color, "plain output without escape sequences")
      ->group(group);
}

}  // namespace

CommandSet::CommandSet(CLI::App& app, GlobalOptions& options) : app_(app), options_(options) {
  AddGlobalFlags(app, options, "Flags for every command");
}

CLI::App& CommandSet::Add(const std::string& name, const std::string& group,
                          const std::string& summary) {
  CLI::App& command = *app_.add_subcommand(name, summary);
  command.group(group);
  AddGlobalFlags(command, options_, "Flags for every command");
  return command;
}

CLI::App& CommandSet::AddVerb(CLI::App& noun, const std::string& name, const std::string& summary) {
  CLI::App& command = *noun.add_subcommand(name, summary);
  AddGlobalFlags(command, options_, "Flags for every command");
  return command;
}

const Action* CommandSet::Find(const CLI::App& command) const {
  const auto found = actions_.find(&command);
  return found == actions_.end() ? nullptr : &found->second;
}

std::string HelpOf(const CLI::App& command) {
  std::string path;
  for (const CLI::App* at = command.get_parent(); at != nullptr; at = at->get_parent()) {
    path = at->get_name() + (path.empty() ? "" : " ") + path;
  }
  return command.help(path);
}

void AddAllCommands(CommandSet& commands) {
  AddServiceCommands(commands);
  AddDemoCommand(commands);
  AddDoctorCommand(commands);
  AddRunFileCommands(commands);
  AddSubmitCommand(commands);
  AddStatusCommands(commands);
  AddWatchCommand(commands);
  AddStreamCommands(commands);
  AddWaitCommand(commands);
  AddCancelCommand(commands);
  AddWorkersCommand(commands);
  AddCheckpointCommands(commands);
  AddSampleCommand(commands);
  AddBenchCommand(commands);
  AddVersionCommand(commands);
  AddHelpCommand(commands);
  AddCompletionCommand(commands);
}

}  // namespace gp::gpctl
