#include "client/gpctl/gpctl.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "client/gpctl/command_set.h"
#include "client/gpctl/commands/help.h"
#include "client/gpctl/error_text.h"

namespace gp::gpctl {
namespace {

int Number(ExitCode code) { return static_cast<int>(code); }

const CLI::App& DeepestParsed(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::vector<std::string> SubcommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> FlagNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options(nullptr)) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// What is wrong with an argument that nothing took.
Status ExplainExtra(const CLI::App& app) {
  const CLI::App& command = DeepestParsed(app);
  const std::vector<std::string> extras = app.remaining(true);
  const std::string extra = extras.empty() ? "" : extras.front();
  const std::string help =
      &command == &app ? "gpctl help" : fmt::format("gpctl help {}", command.get_name());
  if (extra.size() > 1 && extra[0] == '-') {
    const std::string flag = extra.substr(0, extra.find('='));
    return InvalidArgument("unknown flag '{}'{}\nSee '{}'.", flag,
                           DidYouMean(flag, FlagNames(command)), help);
  }
  if (!SubcommandNames(command).empty()) {
    return InvalidArgument("unknown command '{}'{}\nSee '{}'.", extra,
                           DidYouMean(extra, SubcommandNames(command)), help);
  }
  return InvalidArgument("unexpected argument '{}'\nSee '{}'.", extra, help);
}

Status ExplainParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return ExplainExtra(app);
  const CLI::App& command = DeepestParsed(app);
  return InvalidArgument("{}\nSee 'gpctl help {}'.", error.what(), command.get_name());
}

int Fail(Console& console, const Status& status, bool json) {
  const ExitCode code = ExitCodeOf(status);
  console.out.flush();
  console.err << ErrorText(status, code, json) << std::flush;
  return Number(code);
}

int RunParsed(const CommandSet& commands, const GlobalOptions& options, Console& console) {
  const CLI::App& command = DeepestParsed(commands.app());
  if (&command == &commands.app()) {
    console.out << MainHelp(commands.app());
    return Number(ExitCode::kOk);
  }
  const Action* action = commands.Find(command);
  if (action == nullptr) {
    console.err << HelpOf(command);
    return Number(ExitCode::kUsage);
  }
  if (options.no_color) console.environment["GPCTL_NO_COLOR"] = "1";
  Session session(options, console);
  const StatusOr<ExitCode> code = (*action)(session);
  if (!code.ok()) return Fail(console, code.status(), session.json());
  console.out.flush();
  return Number(*code);
}

}  // namespace

int RunGpctl(const std::vector<std::string>& arguments, Console& console) {
  CLI::App app("Trains GPT-2-class models: submit runs, watch them, use their checkpoints.",
               "gpctl");
  // One: a word behind it that is another command's name, as in `gpctl help list`, is its own.
  app.require_subcommand(0, 1);
  GlobalOptions options;
  CommandSet commands(app, options);
  AddAllCommands(commands);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  const bool json = std::find(arguments.begin(), arguments.end(), "json") != arguments.end();
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const CLI::App& command = DeepestParsed(app);
    console.out << (&command == &app ? MainHelp(app) : HelpOf(command));
    return Number(ExitCode::kOk);
  } catch (const CLI::ParseError& error) {
    return Fail(console, ExplainParseError(app, error), json);
  }
  return RunParsed(commands, options, console);
}

}  // namespace gp::gpctl
