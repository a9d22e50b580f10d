"""The processes that `gpctl up` starts in a home directory of its own, for tests."""

import os
import pathlib
import subprocess

from waiting import SECONDS_MAX

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])


class LocalService:
    """Two slots, and text.txt to train on in `root`. It must be stopped with gpctl("down")."""

    def __init__(self, root):
        self.root = root
        self.home = root / "home"
        self.home.mkdir()
        (root / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 400)
        self.up()

    def up(self):
        self.gpctl("up", "--detach", "--workers", "2")

    def run(self, *arguments):
        return subprocess.run([PROGRAMS / "gpctl", *arguments], check=False, capture_output=True, text=True,
                              timeout=SECONDS_MAX, cwd=self.root,
                              env={**os.environ, "HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")})

    def gpctl(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            raise AssertionError(f"gpctl {arguments}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr
