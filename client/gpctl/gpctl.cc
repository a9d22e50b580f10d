#include "client/gpctl/gpctl.h"

#include <algorithm>
#include <cerrno>

#include "base/local_path.h"
#include "base/standard_output.h"
#include "base/text/excerpt.h"
#include "base/text/namespace_name.h"
#include "client/gpctl/commands/candidates.h"
#include "client/gpctl/commands/command_set.h"
#include "client/gpctl/commands/help.h"
#include "client/gpctl/commands/other_names.h"
#include "client/gpctl/error_text.h"

namespace gp::gpctl {
namespace {

int Number(ExitCode code) { return static_cast<int>(code); }

std::vector<std::string> SubcommandNames(Command command) {
  std::vector<std::string> names;
  for (const Command verb : command.Commands()) names.push_back(verb.Name());
  return names;
}

// The long flags of the command and of the commands that it is below.
std::vector<std::string> FlagNames(Command command) {
  std::vector<std::string> names;
  for (std::optional<Command> at = command; at.has_value(); at = at->Parent()) {
    for (const Flag flag : at->Flags()) {
      for (const std::string& name : flag.LongNames()) names.push_back(name);
    }
  }
  return names;
}

// The command line that shows the command's help, such as "gpctl help token create".
std::string HelpCommand(Command command) {
  std::string words;
  for (std::optional<Command> at = command; at->Parent().has_value(); at = at->Parent()) {
    words = " " + at->Name() + words;
  }
  return "gpctl help" + words;
}

// Explains arguments that the command does not take.
Status ExplainExtra(Command program, const std::vector<std::string>& extras) {
  const Command command = program.Chosen();
  const std::string extra = extras.empty() ? "" : extras.front();
  const std::string help = HelpCommand(command);
  if (extra.size() > 1 && extra[0] == '-') {
    const std::string flag = extra.substr(0, extra.find('='));
    return InvalidArgument("unknown flag '{}'{}\nSee '{}'.", flag,
                           DidYouMean(flag, FlagNames(command)), help);
  }
  if (!SubcommandNames(command).empty()) {
    const std::string here = command == program ? CalledHere(extra, SubcommandNames(command)) : "";
    if (!here.empty()) return InvalidArgument("there is no command '{}': {}", extra, here);
    return InvalidArgument("unknown command '{}'{}\nSee '{}'.", extra,
                           DidYouMean(extra, SubcommandNames(command)), help);
  }
  return InvalidArgument("unexpected argument '{}'\nSee '{}'.", extra, help);
}

Status ExplainParseError(Command program, const ParseOutcome& outcome) {
  if (outcome.kind == ParseOutcome::Kind::kUnexpectedWords) {
    return ExplainExtra(program, outcome.unexpected);
  }
  const Command command = program.Chosen();
  const bool names_file = command.Name() == "init" && outcome.message.starts_with("--output:");
  return InvalidArgument("{}{}\nSee '{}'.", outcome.message,
                         names_file ? "; to write the run file: gpctl init FILE" : "",
                         HelpCommand(command));
}

// Returns `code`, or 1 instead of 0 if the output could not be written; prints that error.
int CheckOutput(Console& console, int code, bool json) {
  console.out.flush();
  if (console.out.good()) return code;
  const int error = console.output_error ? console.output_error() : EIO;
  const std::string message = LostOutputText(error);
  if (!message.empty()) {
    console.err << ErrorText(Internal("{}", message), ExitCode::kFailure, json) << std::flush;
  }
  return code == Number(ExitCode::kOk) ? Number(ExitCode::kFailure) : code;
}

int Fail(Console& console, const Status& status, bool json) {
  const ExitCode code = ExitCodeOf(status);
  console.out.flush();
  console.err << ErrorText(status, code, json) << std::flush;
  return Number(code);
}

// Checks the environment variables that hold paths.
Status CheckPathVariables(const Console& console) {
  for (const char* name : {"GPCTL_STATE_DIR", "GPCTL_TOKEN_FILE", "GPCTL_CA_FILE", "TEXT",
                           "XDG_STATE_HOME", "XDG_CONFIG_HOME"}) {
    RETURN_IF_ERROR(WithContext(CheckLocalPath(console.Variable(name)), name));
  }
  return OkStatus();
}

Status CheckNamespaceFlag(const std::string& name) {
  if (name.empty() || name == kEveryNamespace || IsNamespaceName(name)) return OkStatus();
  return InvalidArgument("--namespace: '{}' is not a valid namespace; expected {}", Excerpt(name),
                         kNamespaceRule);
}

int RunParsed(const CommandSet& commands, const GlobalOptions& options, Console& console) {
  const Command command = commands.program().Chosen();
  if (command == commands.program()) {
    console.out << FittedHelp(MainHelp(command), console);
    return Number(ExitCode::kOk);
  }
  const Action* action = commands.Find(command);
  if (action == nullptr) {
    console.err << FittedHelp(HelpOf(command), console);
    return Number(ExitCode::kUsage);
  }
  if (options.output == "yaml" && command.Name() != "submit") {
    return Fail(console, InvalidArgument("-o yaml is for 'gpctl submit'; expected text or json"),
                false);
  }
  if (const Status status = CheckPathVariables(console); !status.ok()) {
    return Fail(console, status, options.output == "json");
  }
  if (const Status status = CheckNamespaceFlag(options.run_namespace); !status.ok()) {
    return Fail(console, status, options.output == "json");
  }
  if (options.no_color) console.environment["GPCTL_NO_COLOR"] = "1";
  Session session(options, console);
  const StatusOr<ExitCode> code = (*action)(session);
  if (!code.ok()) return Fail(console, code.status(), session.json());
  return Number(*code);
}

int RunArguments(const std::vector<std::string>& arguments, bool json, Console& console) {
  const CommandLine line(
      "Trains GPT-2-class models: submit runs, watch them, use their checkpoints.", "gpctl");
  const Command program = line.root();
  program.AllowOneCommand();
  GlobalOptions options;
  CommandSet commands(program, options);
  AddAllCommands(commands);
  if (!arguments.empty() && arguments.front() == kCompleteWord) {
    const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
    console.out << CandidateLines(CandidatesFor(program, words, console));
    return Number(ExitCode::kOk);
  }
  const ParseOutcome outcome = line.TryParse(arguments);
  if (outcome.kind == ParseOutcome::Kind::kParsed) return RunParsed(commands, options, console);
  if (outcome.kind != ParseOutcome::Kind::kHelpWanted) {
    return Fail(console, ExplainParseError(program, outcome), json);
  }
  const Command command = program.Chosen();
  console.out << FittedHelp(command == program ? MainHelp(program) : HelpOf(command), console);
  return Number(ExitCode::kOk);
}

}  // namespace

// --version is the command `version`, because that also asks the coordinator for its version.
int RunGpctl(const std::vector<std::string>& given, Console& console) {
  std::vector<std::string> arguments = given;
  if (!arguments.empty() && arguments.front() == "--version") arguments.front() = "version";
  const bool json = std::find(arguments.begin(), arguments.end(), "json") != arguments.end();
  return CheckOutput(console, RunArguments(arguments, json, console), json);
}

}  // namespace gp::gpctl
