// gpctl completion: scripts for bash, zsh and fish. They ask gpctl for each word
// (candidates.h), so that commands, keys, runs and checkpoints are always up to date.
#include <memory>

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {
namespace {

// bash divides words at '=' and ':', too, and before '@', and replaces only the last part; it does
// not take quotes away.
constexpr char kBashScript[] = R"BASH(# bash completion for gpctl: source <(gpctl completion bash)
_gpctl() {
  local line="${COMP_LINE:0:COMP_POINT}" quote="" current="" begun="" c i found word rest before
  local -a words
  for ((i = 0; i < ${#line}; ++i)); do
    c="${line:i:1}"
    if [[ -n "$quote" ]]; then
      if [[ "$c" == "$quote" ]]; then quote=""; else current+="$c"; fi
    elif [[ "$c" == [\'\"] ]]; then quote="$c"; begun=1
    elif [[ "$c" == \\ ]]; then current+="${line:$((++i)):1}"
    elif [[ "$c" != [[:space:]] ]]; then current+="$c"
    elif [[ -n "$current$begun" ]]; then words+=("$current"); current=""; begun=""
    fi
  done
  rest="${current##*[=:]}"
  if [[ "$rest" == *@* ]]; then rest="@${rest##*@}"; fi
  before="${current%"$rest"}"
  COMPREPLY=()
  found="$("${words[0]}" __complete "${words[@]:1}" "$current" 2>/dev/null)"
  if [[ "$found" == :files* ]]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$rest")
    found="${found#:files}"
    # bash then quotes all words itself.
    if [[ "${#COMPREPLY[@]}" -gt 0 ]]; then compopt -o filenames 2>/dev/null; quote=" "; fi
  fi
  while IFS= read -r word; do
    [[ -n "$word" ]] || continue
    word="${word#"$before"}"
    if [[ -z "$quote" && "$word" == *[!A-Za-z0-9@%_+=:,./-]* ]]; then printf -v word %q "$word"; fi
    COMPREPLY+=("$word")
  done <<< "$found"
  if [[ "${#COMPREPLY[@]}" -eq 1 && "${COMPREPLY[0]}" == *[=\<] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _gpctl gpctl
)BASH";

constexpr char kZshScript[] = R"ZSH(#compdef gpctl
# zsh completion for gpctl: source <(gpctl completion zsh)
_gpctl() {
  local -a found open
  found=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  found=("${(@)found:#}")
  if [[ "${found[1]}" == ":files" ]]; then
    shift found
    [[ "$PREFIX" == --*=* ]] && compset -P 1 '*='
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
  set -l typed (commandline -ct)
  set -l current (string unescape -- $typed; or string unescape -- $typed\'; or string unescape -- $typed\")
  set -l flag (string match -r -- '^--[^=]*=' $current)
  for word in ($before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    if test "$word" = ":files"
      for path in (__fish_complete_path (string replace -- "$flag" "" "$current"))
        echo -- "$flag$path"
      end
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
