"""The completion scripts in a real bash, zsh and fish in a terminal (tmux), with the runs of a fake coordinator.

Usage: completion_test.py SCREEN_SERVICE. A shell that is not installed is left out; without zsh and fish the test is
skipped.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../screen"))
from screens_test import Service  # noqa: E402
from tmux_terminal import Terminal  # noqa: E402

# What makes the shell ready for the first word.
STARTS = {
    "bash": ["source <(gpctl completion bash)"],
    "zsh": ["exec zsh -f", "autoload -U compinit; compinit -D; source <(gpctl completion zsh); PROMPT='$ '"],
    "fish": ["exec fish --no-config", "gpctl completion fish | source",
             "function fish_prompt; echo '$ '; end; set fish_autosuggestion_enabled 0"],
}
# A line, and what it is after the Tab key.
COMPLETED = [
    ("gpctl lin", "gpctl lineage"),
    ("gpctl watch gpt2-f", "gpctl watch gpt2-fineweb"),
    ("gpctl watch --plain gpt2-f", "gpctl watch --plain gpt2-fineweb"),
    ("gpctl init --preset shakespeare-char-", "gpctl init --preset shakespeare-char-gpu"),
    ("gpctl init --preset=shakespeare-char-", "gpctl init --preset=shakespeare-char-gpu"),
    ("gpctl submit --set optimizer.lr", "gpctl submit --set optimizer.lr="),
    ("gpctl submit --set schedule.kind=cos", "gpctl submit --set schedule.kind=cosine"),
    ("gpctl submit run.yaml --set-file s", "gpctl submit run.yaml --set-file settings.env"),
    ("gpctl submit run.yaml --set-file=s", "gpctl submit run.yaml --set-file=settings.env"),
    ("gpctl submit run.yaml --set-file a", "gpctl submit run.yaml --set-file a\\ file"),
    ("gpctl submit 'a file' --reques", "gpctl submit 'a file' --request-id"),
    ("gpctl list --state runn", "gpctl list --state running"),
    ("gpctl wait gpt2-fineweb --for state=runn", "gpctl wait gpt2-fineweb --for state=running"),
    ("gpctl sample gpt2-fineweb@b", "gpctl sample gpt2-fineweb@best"),
    ("gpctl sample gpt2-fineweb@50", "gpctl sample gpt2-fineweb@5000"),
    ("gpctl explain optimizer.weight_d", "gpctl explain optimizer.weight_decay"),
    ("gpctl workers dr", "gpctl workers drain"),
]
# A line that several words complete, and some of these.
LISTED = [
    ("gpctl sample gpt2-fineweb@", ["best", "latest", "5000"]),
    ("gpctl plot --x ", ["steps", "tokens", "time"]),
]


class Shell:
    def __init__(self, name, terminal):
        self.terminal = terminal
        for line in STARTS[name]:
            terminal.run(line)
        terminal.run("clear; echo re''ady")
        terminal.wait_for(lambda screen: "ready\n" in screen)

    def complete(self, line, condition, tabs=1):
        """Types the line and Tab; waits for what the shell shows then."""
        self.terminal.run("clear; echo re''ady")
        self.terminal.wait_for(lambda screen: screen.startswith("ready"))
        self.terminal.type(line)
        self.terminal.wait_for(lambda screen: line.rstrip() in screen)
        self.terminal.press(*["Tab"] * tabs)
        try:
            self.terminal.wait_for(condition)
        except AssertionError as error:
            raise AssertionError(f"{line!r}: {error}") from None
        self.terminal.press("C-c")
        self.terminal.wait_for(lambda screen: screen.rstrip().split("\n")[-1].strip() == "$")


def ends_with(line):
    # The last line with text; the space after a whole word is not shown.
    return lambda screen: screen.rstrip().split("\n")[-1].removeprefix("$ ") == line


def check(name, service):
    with Terminal(120, 24, service.environment) as terminal:
        terminal.run(f"cd {service.home}")
        shell = Shell(name, terminal)
        for line, whole in COMPLETED:
            shell.complete(line, ends_with(whole))
        for line, words in LISTED:
            shell.complete(line, lambda screen, words=words: all(word in screen for word in words),
                           tabs=2 if name == "bash" else 1)


def main():
    missing = [name for name in STARTS if shutil.which(name) is None]
    if shutil.which("tmux") is None or {"zsh", "fish"} <= set(missing):
        print("tmux, or zsh and fish, are not installed; scripts/bootstrap --dev installs them")
        return 77
    service = Service(sys.argv[1])
    for file in ("settings.env", "a file"):
        with open(os.path.join(service.home, file), "w", encoding="utf-8"):
            pass
    try:
        for name in STARTS:
            if name not in missing:
                check(name, service)
                print(f"{name}: passed")
    finally:
        service.stop()
    print("not installed: " + ", ".join(missing) if missing else "all three shells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
