// gpctl completion: scripts for bash, zsh and fish, made from the table of commands. Names of runs
// are asked for at the time.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {
namespace {

// Commands whose first argument is a run.
constexpr char kRunCommands[] = "status|watch|logs|events|wait|why|metrics|cancel|sample";

std::vector<std::string> Flags(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options(nullptr)) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return Joined(names);
}

std::string BashCases(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string verbs = CommandNames(*command);
    out += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(),
                       Joined({verbs, Joined(Flags(*command))}));
  }
  return out;
}

std::string BashScript(const CLI::App& app) {
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
                     CommandNames(app), BashCases(app), kRunCommands);
}

std::string ZshScript(const CLI::App& app) {
  return "#compdef gpctl\n# zsh completion for gpctl: source <(gpctl completion zsh)\nautoload -U "
         "+X bashcompinit && "
         "bashcompinit\n" +
         BashScript(app);
}

std::string FishQuoted(std::string text) {
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2))
    text.insert(at, "\\");
  return "'" + text + "'";
}

std::string FishScript(const CLI::App& app) {
  std::string out =
      "# fish completion for gpctl: gpctl completion fish | source\ncomplete -c gpctl -f\n";
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string& name = command->get_name();
    out += fmt::format("complete -c gpctl -n __fish_use_subcommand -a {} -d {}\n", name,
                       FishQuoted(command->get_description()));
    for (const std::string& flag : Flags(*command)) {
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

StatusOr<ExitCode> Complete(const CLI::App& app, const std::string& shell, Session& session) {
  session.console().out << (shell == "bash"  ? BashScript(app)
                            : shell == "zsh" ? ZshScript(app)
                                             : FishScript(app));
  return ExitCode::kOk;
}

}  // namespace

void AddCompletionCommand(CommandSet& commands) {
  const Command command =
      commands.Add("completion", kOtherGroup, "Print a completion script for bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  command.Option("SHELL", *shell, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
  const CLI::App& app = commands.app();
  commands.Bind(command,
                [shell, &app](Session& session) { return Complete(app, *shell, session); });
}

}  // namespace gp::gpctl
