"""A service that `gpctl up` starts in a home directory of its own, for tests of the Python client."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from waiting import SECONDS_MAX, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])

# More steps than a run can take during a test, however slow the commands are beside it.
ENDLESS = 10**9


class LocalService:
    def __init__(self, root, *options):
        """`options`: more flags of `gpctl up`."""
        self.root = root
        self.options = options
        self.home = root / "home"
        self.home.mkdir()
        self.state_dir = self.home / "state" / "gp"
        self.variables = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "XDG_CONFIG_HOME": ""}
        (root / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 400)
        self.up()

    def up(self):
        self.gpctl("up", "--detach", "--workers", "2", *self.options)

    def run(self, *arguments):
        return subprocess.run(
            [PROGRAMS / "gpctl", *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            cwd=self.root,
            env={**os.environ, **self.variables},
        )

    def gpctl(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            raise AssertionError(f"gpctl {arguments}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def down(self):
        self.run("down")

    def coordinator_pid(self):
        return json.loads((self.state_dir / "service.json").read_text())["coordinator"]["pid"]

    def run_file(self, name, steps=30, **more):
        """A run of a model so small that a step takes less than a millisecond."""
        return {
            "name": name,
            "model": {"n_layer": 1, "n_head": 1, "n_embd": 16, "n_ctx": 16},
            "data": {"text": [self.root / "text.txt"], "tokenizer": "bytes", "val_fraction": 0.1},
            "resources": {"workers": 1, "device": "cpu"},
            "batch": {"micro_batch": 2, "sequence": 16},
            "optimizer": {"lr": 1e-3},
            "budget": {"steps": steps},
            "eval": {"every": 15, "batches": 2},
            "checkpoint": {"every": 15, "keep_last": 20},
            **more,
        }


__all__ = ["ENDLESS", "LocalService", "PROGRAMS", "wait_for"]
