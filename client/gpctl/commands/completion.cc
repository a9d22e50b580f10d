// gpctl completion: scripts for bash, zsh and fish. They ask gpctl for each word
// (candidates.h), so that commands, keys, runs and checkpoints are always up to date.
#include <memory>

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {
namespace {

// bash divides words at '=' and '@', too, and replaces only what comes after them.
constexpr char kBashScript[] = R"BASH(# bash completion for gpctl: source <(gpctl completion bash)
_gpctl() {
  local line="${COMP_LINE:0:COMP_POINT}" found word before current
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  before="${current%"${current##*[=@]}"}"
  COMPREPLY=()
  found="$("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)"
  while IFS= read -r word; do
    case "$word" in
      "") ;;
      :files) compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${current#"$before"}") ;;
      *) COMPREPLY+=("${word#"$before"}") ;;
    esac
  done <<< "$found"
  if [[ "${#COMPREPLY[@]}" -eq 1 && "${COMPREPLY[0]}" == *[=\<] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _gpctl gpctl
)BASH";

constexpr char kZshScript[] = R"ZSH(#compdef gpctl
# zsh completion for gpctl: source <(gpctl completion zsh)
_gpctl() {
  local -a found open
  found=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found:#}")
  if [[ "${found[1]}" == ":files" ]]; then
    shift found
    _files
  fi
  open=("${(@M)found:#*[=<]}")
  found=("${(@)found:#*[=<]}")
  compadd -- "${found[@]}"
  compadd -S '' -- "${open[@]}"
}
compdef _gpctl gpctl
)ZSH";

constexpr char kFishScript[] = R"FISH(# fish completion for gpctl: gpctl completion fish | source
function __gpctl_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  for word in ($before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    if test "$word" = ":files"
      __fish_complete_path "$current"
    else
      echo -- $word
    end
  end
end
complete -c gpctl -f -a '(__gpctl_complete)'
)FISH";

StatusOr<ExitCode> Complete(const std::string& shell, Session& session) {
  session.console().out << (shell == "bash"  ? kBashScript
                            : shell == "zsh" ? kZshScript
                                             : kFishScript);
  return ExitCode::kOk;
}

}  // namespace

void AddCompletionCommand(CommandSet& commands) {
  const Command command =
      commands.Add("completion", kOtherGroup, "Print a completion script for bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  command.Option("SHELL", *shell, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
  commands.Bind(command, [shell](Session& session) { return Complete(*shell, session); });
}

}  // namespace gp::gpctl
