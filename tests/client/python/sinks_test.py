"""Runs in W&B and MLflow, read back by the tools' own clients and compared with `gpctl metrics -o json` number by number.

W&B: `wandb sync` uploads the offline directories to a stand-in for its server. MLflow: files, without a server;
mlflow_server_test.py has a real one.
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
import unittest.mock

import python_packages

python_packages.continue_there()

import fake_wandb  # noqa: E402
import gp  # noqa: E402
import sinking  # noqa: E402
from local_service import wait_for  # noqa: E402

# In a directory that is complete.
MARK = "gp-sink.json"


class InWandb(sinking.WithRuns):
    def setUp(self):
        super().setUp()
        self.server = fake_wandb.FakeWandb()
        self.addCleanup(self.server.stop)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gp-wandb-")))

    def directories(self, run):
        return sorted((self.folder / "wandb").glob(f"offline-run-*-{run.id}"))

    def sync(self):
        done = subprocess.run(
            [python_packages.PYTHON.parent / "wandb", "sync", *sorted((self.folder / "wandb").glob("offline-run-*"))],
            check=False,
            capture_output=True,
            text=True,
            timeout=sinking.SECONDS_MAX,
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder), "WANDB_BASE_URL": self.server.url, "WANDB_API_KEY": 40 * "a"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def check(self, run):
        """All numbers in W&B are those of gpctl."""
        rows = self.server.rows(run.id)
        wanted = self.metrics_of(run)
        self.assertEqual(set(rows), set(wanted))
        for step, row in rows.items():
            self.assertEqual({key: row[key] for key in wanted[step]}, wanted[step], f"step {step}")
            self.assertEqual(set(row) - set(wanted[step]), {"_step", "_timestamp", "_runtime"})

    def test_wandb_sync_takes_the_directory_with_every_number(self):
        printed = self.sink("wandb", self.base.name, self.fork.name, "--output", self.folder, "--project", "lm")
        [written] = self.directories(self.base)
        self.assertEqual(printed.splitlines()[0], f"base ({self.base.id}): 60 steps written to {written}")
        self.sync()
        self.check(self.base)
        self.check(self.fork)
        shown = self.server.runs[self.base.id]
        self.assertEqual((shown["displayName"], shown["project"], shown["tags"]), ("base", "lm", ["team=research"]))
        config = {key: value["value"] for key, value in json.loads(shown["config"]).items()}
        self.assertEqual((config["optimizer"]["lr"], config["budget"]["steps"], config["name"]), (0.001, 60, "base"))
        config = {key: value["value"] for key, value in json.loads(self.server.runs[self.fork.id]["config"]).items()}
        self.assertEqual(config["gp"]["parent"], "base@30")
        self.assertEqual(min(self.server.rows(self.fork.id)), 31, "the fork's curve follows its checkpoint")
        self.assertEqual(self.server.ended, {self.base.id: 0, self.fork.id: 0})

    def test_a_second_call_writes_nothing_and_an_extended_run_is_one_curve(self):
        run = self.submit("longer", 20)
        self.sink("wandb", "longer", "--output", self.folder)
        [first] = self.directories(run)
        before = {path: path.stat().st_mtime_ns for path in first.rglob("*")}
        self.assertIn("nothing new for", self.sink("wandb", "longer", "--output", self.folder))
        self.assertEqual({path: path.stat().st_mtime_ns for path in first.rglob("*")}, before)
        self.sync()
        run.extend("+15").wait(sinking.SECONDS_MAX)
        run.label(stage="2")
        self.sink("wandb", "longer", "--output", self.folder)
        [second] = self.directories(run)
        self.assertNotEqual(first, second)
        self.sync()
        self.check(run)
        self.assertEqual(max(self.server.rows(run.id)), 35)
        self.assertEqual(self.server.runs[run.id]["tags"], ["stage=2"])

    def test_a_sink_that_was_killed_leaves_no_half_directory(self):
        run = self.endless("killed")
        with self.following("wandb", "killed", "--output", self.folder) as follower:
            wait_for("a directory", lambda: self.directories(run))
            follower.kill()
        [half] = self.directories(run)
        self.assertFalse((half / MARK).exists())
        run.cancel(now=True).wait(sinking.SECONDS_MAX, check=False)
        self.sink("wandb", "killed", "--output", self.folder)
        [whole] = self.directories(run)
        self.assertTrue((whole / MARK).exists())
        self.sync()
        self.check(run)
        self.assertEqual(self.server.ended, {run.id: 1}, "it was cancelled")

    def test_a_follower_writes_what_comes_and_completes_it_when_it_is_stopped(self):
        run = self.endless("followed")
        with self.following("wandb", "followed", "--output", self.folder) as follower:
            wait_for("the follower has begun", lambda: self.directories(run))
            step = run.refresh().step
            wait_for("the run goes on", lambda: run.refresh().step > step)
            follower.send_signal(signal.SIGTERM)
            out, _ = follower.communicate(timeout=sinking.SECONDS_MAX)
        self.assertEqual(follower.returncode, 0)
        self.assertRegex(out, r"^followed \(\w+\): \d+ steps written to ")
        self.sync()
        rows = self.server.rows(run.id)
        self.assertEqual(sorted(rows), list(range(1, len(rows) + 1)))


class InMlflowFiles(sinking.WithRuns, sinking.MlflowChecks):
    def setUp(self):
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="gp-mlflow-"))
        self.uri = pathlib.Path(folder, "runs").as_uri()
        self.enterContext(unittest.mock.patch.dict(os.environ, {"MLFLOW_ALLOW_FILE_STORE": "true"}))


class Refusals(sinking.WithRuns):
    def test_what_cannot_be_written_is_said(self):
        done = self.run_sink("wandb", "nobody")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("'nobody' does not exist", done.stderr)
        done = self.run_sink("mlflow", "base", "--to", "http://127.0.0.1:1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^error: base: .*127.0.0.1")
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
