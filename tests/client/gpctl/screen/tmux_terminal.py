"""A terminal of a given size with a shell in it: tmux on a socket of its own, without a user's settings."""
import os
import subprocess
import tempfile
import time

SETTINGS = """set -g status off
set -g default-terminal tmux-256color
set -g remain-on-exit on
set -sg escape-time 0
"""


class Terminal:
    def __init__(self, columns, rows, environment):
        self.directory = tempfile.TemporaryDirectory(prefix="gp-tmux-")
        settings = os.path.join(self.directory.name, "tmux.conf")
        with open(settings, "w") as file:
            file.write(SETTINGS)
        self.command = ["tmux", "-S", os.path.join(self.directory.name, "socket"), "-f", settings]
        variables = {**environment, "PS1": "$ ", "HISTFILE": "", "ENV": "", "BASH_ENV": ""}
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "bash", "--norc", "--noprofile",
                  environment=variables)
        self.resize(columns, rows)
        self.wait_for(lambda screen: "$" in screen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)
        self.directory.cleanup()

    def tmux(self, *arguments, environment=None, check=True):
        return subprocess.run([*self.command, *arguments], env=environment, check=check, capture_output=True,
                              text=True).stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, line):
        self.type(line)
        self.press("Enter")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, colours=False):
        """The lines of the terminal; without spaces at their ends."""
        text = self.tmux("capture-pane", "-p", *(["-e"] if colours else []))
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"

    def ask(self, variable):
        return self.tmux("display-message", "-p", "#{" + variable + "}").strip()

    def is_alternate(self):
        return self.ask("alternate_on") == "1"

    def wait_for(self, condition, seconds=30):
        """The first screen for which the condition holds; AssertionError with the last one otherwise."""
        deadline = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if condition(screen):
                return screen
            assert time.monotonic() < deadline, f"the terminal still shows:\n{screen}"
            time.sleep(0.05)
