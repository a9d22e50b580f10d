// gpctl completion: scripts for bash, zsh and fish, made from the table of commands. The scripts
// ask gpctl for run names.
#include <algorithm>
#include <memory>

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {
namespace {

// Commands whose first argument is a run.
constexpr char kRunCommands[] =
    "status|watch|logs|events|wait|why|metrics|cancel|fork|sample|chat|serve";

std::vector<std::string> LongFlags(Command command) {
  std::vector<std::string> flags;
  for (const Flag flag : command.Flags()) {
    for (const std::string& name : flag.LongNames()) flags.push_back(name);
  }
  return flags;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string CommandNames(Command program) {
  std::vector<std::string> names;
  for (const Command command : program.Commands()) names.push_back(command.Name());
  return Joined(names);
}

std::string BashCases(Command program) {
  std::string out;
  for (const Command command : program.Commands()) {
    const std::string verbs = CommandNames(command);
    out += fmt::format("    {}) words=\"{}\" ;;\n", command.Name(),
                       Joined({verbs, Joined(LongFlags(command))}));
  }
  return out;
}

std::string BashScript(Command program) {
  return fmt::format(R"BASH(# bash completion for gpctl: source <(gpctl completion bash)
_gpctl() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "$command" in
{}  esac
  case "$command" in
    {}) [[ "$current" == -* ]] || words="$words @last $(gpctl list -a -q --timeout 1s 2>/dev/null)" ;;
    submit|validate) [[ "$current" == -* ]] || {{ COMPREPLY=($(compgen -f -- "$current")); return; }} ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _gpctl gpctl
)BASH",
                     CommandNames(program), BashCases(program), kRunCommands);
}

std::string ZshScript(Command program) {
  return "#compdef gpctl\n# zsh completion for gpctl: source <(gpctl completion zsh)\nautoload -U "
         "+X bashcompinit && "
         "bashcompinit\n" +
         BashScript(program);
}

std::string FishQuoted(std::string text) {
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2))
    text.insert(at, "\\");
  return "'" + text + "'";
}

std::string FishScript(Command program) {
  std::string out =
      "# fish completion for gpctl: gpctl completion fish | source\ncomplete -c gpctl -f\n";
  for (const Command command : program.Commands()) {
    const std::string name = command.Name();
    out += fmt::format("complete -c gpctl -n __fish_use_subcommand -a {} -d {}\n", name,
                       FishQuoted(command.Summary()));
    for (const std::string& flag : LongFlags(command)) {
      out += fmt::format("complete -c gpctl -n '__fish_seen_subcommand_from {}' -l {}\n", name,
                         flag.substr(2));
    }
  }
  std::string runs = kRunCommands;
  std::replace(runs.begin(), runs.end(), '|', ' ');
  out += fmt::format(
      "complete -c gpctl -n '__fish_seen_subcommand_from {}' -a '@last (gpctl list -a -q --timeout "
      "1s 2>/dev/null)'\n",
      runs);
  return out + "complete -c gpctl -n '__fish_seen_subcommand_from submit validate' -F\n";
}

StatusOr<ExitCode> Complete(Command program, const std::string& shell, Session& session) {
  session.console().out << (shell == "bash"  ? BashScript(program)
                            : shell == "zsh" ? ZshScript(program)
                                             : FishScript(program));
  return ExitCode::kOk;
}

}  // namespace

void AddCompletionCommand(CommandSet& commands) {
  const Command command =
      commands.Add("completion", kOtherGroup, "Print a completion script for bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  command.Option("SHELL", *shell, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
  commands.Bind(command, [shell, program = commands.program()](Session& session) {
    return Complete(program, *shell, session);
  });
}

}  // namespace gp::gpctl
