"""Runs in a real server of MLflow (.deps/mlflow of `scripts/bootstrap --mlflow`), also while that server is away."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import python_packages

python_packages.continue_there()

SERVER = python_packages.SOURCE / ".deps" / "mlflow" / "bin" / "mlflow"
if not SERVER.exists():
    print(f"{SERVER.relative_to(python_packages.SOURCE)} is missing; 'scripts/bootstrap --mlflow' installs it")
    sys.exit(python_packages.SKIPPED)

import sinking  # noqa: E402
from local_service import wait_for  # noqa: E402  # adds tests/e2e to the path

from free_ports import free_ports  # noqa: E402  # isort: skip


class MlflowServer:
    """A server with its runs in SQLite; `start` begins it again at the same address."""

    def __init__(self, folder):
        self.folder = folder
        [self.port] = free_ports(1)
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [SERVER, "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1",
             "--backend-store-uri", f"sqlite:///{self.folder}/runs.db", "--artifacts-destination", str(self.folder / "artifacts")],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "HOME": str(self.folder), "PYTHONPATH": ""},
        )
        wait_for("the server of MLflow", self.answers)

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self):
        """The server has processes of its own."""
        if self.process is None:
            return
        os.killpg(self.process.pid, 15)
        self.process.wait()
        self.process = None
        wait_for("the server is gone", lambda: not self.answers())


class InMlflow(sinking.WithRuns, sinking.MlflowChecks):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-mlflow-")))
        cls.server = MlflowServer(folder)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        cls.uri = cls.server.uri

    def test_a_server_that_is_away_loses_nothing_and_slows_no_step(self):
        run = self.endless("away")
        with self.following("mlflow", "away", "--to", self.uri) as follower:
            wait_for("points in MLflow", self.has_points(run))
            self.server.stop()
            line = follower.stderr.readline()
            self.assertRegex(line, "^warning: away: .*; trying again until it works")
            step, begin = run.refresh().step, time.monotonic()
            wait_for("the run goes on", lambda: run.refresh().step > step + 100)
            self.assertLess(time.monotonic() - begin, sinking.SECONDS_MAX)
            self.server.start()
            run.cancel(now=True).wait(sinking.SECONDS_MAX, check=False)
            out, _ = follower.communicate(timeout=sinking.SECONDS_MAX)
        self.assertEqual(follower.returncode, 0)
        self.assertRegex(out, r"^away \(\w+\): \d+ steps written to http://127.0.0.1")
        self.assertEqual(self.check(run).info.status, "KILLED")


if __name__ == "__main__":
    unittest.main()
