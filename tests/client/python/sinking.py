"""Shared by the tests of sinks: a service with a run and its fork, the command gp-sink, and checks of what MLflow has."""

import contextlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import gp
from local_service import ENDLESS, LocalService, wait_for

SECONDS_MAX = 120
# The numbers of `gpctl metrics -o json` that sinks write.
WRITTEN = ("tokens", "loss", "val_loss", "val_bpb", "lr", "grad_norm", "tokens_per_second", "mfu", "step_seconds")


class WithRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = LocalService(pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-sinks-"))))
        cls.addClassCleanup(cls.service.down)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GPCTL_")}
        variables = {**kept, **cls.service.variables, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, variables, clear=True))
        cls.client = cls.enterClassContext(gp.connect())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.base = cls.client.submit(cls.service.run_file("base", 60, labels={"team": "research"})).wait(SECONDS_MAX)
            cls.fork = cls.base.fork(30, overrides={"optimizer.lr": 5e-4}).wait(SECONDS_MAX)

    def setUp(self):
        warnings.simplefilter("ignore")

    def submit(self, name, steps):
        return self.client.submit(self.service.run_file(name, steps)).wait(SECONDS_MAX)

    def endless(self, name):
        """A run that trains, with steps that take longer than writing them to a tool."""
        larger = {
            "model": {"n_layer": 2, "n_head": 2, "n_embd": 128, "n_ctx": 64},
            "batch": {"micro_batch": 16, "sequence": 64},
            "schedule": {"decay_steps": 1000},
            "eval": {"every": 100000},
            "checkpoint": {"every": 50000},
        }
        run = self.client.submit(self.service.run_file(name, ENDLESS, **larger))
        self.addCleanup(lambda: run.refresh().has_ended or run.cancel(now=True).wait(SECONDS_MAX, check=False))
        wait_for("the run trains", lambda: run.refresh().step > 5)
        return run

    def metrics_of(self, run):
        """The numbers of `gpctl metrics -o json` that a sink writes, by step."""
        rows = {}
        for line in self.service.gpctl("metrics", run.id, "-o", "json").splitlines():
            point = json.loads(line)
            numbers = {key: point[key] for key in WRITTEN if point.get(key) is not None}
            if not numbers.get("mfu"):
                numbers.pop("mfu", None)
            rows[point["step"]] = numbers
        return rows

    def run_sink(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "gp.sinks.command", *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            cwd=self.service.root,
        )

    def sink(self, *arguments):
        done = self.run_sink(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @contextlib.contextmanager
    def following(self, *arguments):
        follower = subprocess.Popen(
            [sys.executable, "-m", "gp.sinks.command", *map(str, arguments), "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.service.root,
        )
        try:
            yield follower
        finally:
            follower.kill()
            follower.wait()
            follower.stdout.close()
            follower.stderr.close()


class MlflowChecks:
    """The cases for an MLflow at self.uri."""

    def mlflow_client(self):
        import mlflow

        return mlflow.MlflowClient(tracking_uri=self.uri)

    def runs_in_mlflow(self, run):
        client = self.mlflow_client()
        experiment = client.get_experiment_by_name("gp").experiment_id
        return client.search_runs([experiment], filter_string=f"tags.`gp.run` = '{run.id}'")

    def check(self, run):
        """One run in MLflow whose numbers are those of gpctl, each once."""
        [found] = self.runs_in_mlflow(run)
        wanted = self.metrics_of(run)
        histories = {key: self.mlflow_client().get_metric_history(found.info.run_id, key) for key in found.data.metrics}
        self.assertEqual(set(histories), {key for row in wanted.values() for key in row})
        for key, history in histories.items():
            expected = {step: row[key] for step, row in wanted.items() if key in row}
            self.assertEqual(len(history), len(expected), f"{key} is written once for each step")
            self.assertEqual({metric.step: metric.value for metric in history}, expected, key)
        times = {metric.step: metric.timestamp for metric in histories["loss"]}
        points = {point.step: math.floor(point.at.timestamp() * 1000) for point in run.metrics()}
        self.assertEqual(times, points)
        return found

    def test_mlflow_has_every_number_parameter_and_tag(self):
        printed = self.sink("mlflow", "base", "base-fork", "--to", self.uri)
        self.assertIn(f"base ({self.base.id}): 60 steps written to {self.uri}", printed)
        found = self.check(self.base)
        self.assertEqual((found.info.status, found.info.run_name), ("FINISHED", "base"))
        self.assertEqual(found.data.params["optimizer.lr"], "0.001")
        self.assertEqual((found.data.tags["team"], found.data.tags["gp.namespace"]), ("research", "default"))
        self.assertGreater(found.info.end_time, found.info.start_time)
        self.assertEqual(self.check(self.fork).data.tags["gp.parent"], "base@30")
        self.assertIn("nothing new for", self.sink("mlflow", "base", "--to", self.uri))
        self.check(self.base)

    def test_an_extended_run_goes_on_in_the_same_run_of_mlflow(self):
        run = self.submit("longer", 20)
        self.sink("mlflow", "longer", "--to", self.uri)
        first = self.check(run)
        run.extend("+15").wait(SECONDS_MAX)
        run.label(stage="2").write_note("twice")
        self.assertIn("15 steps written", self.sink("mlflow", "longer", "--to", self.uri))
        second = self.check(run)
        self.assertEqual(first.info.run_id, second.info.run_id)
        self.assertEqual((second.data.params["budget.steps"], second.data.tags["gp.leg2.budget.steps"]), ("20", "35"))
        self.assertEqual((second.data.tags["stage"], second.data.tags["mlflow.note.content"]), ("2", "twice"))

    def test_a_leg_with_other_losses_is_written_anew(self):
        run = self.submit("again", 30)
        self.sink("mlflow", "again", "--to", self.uri)
        [first] = self.runs_in_mlflow(run)
        self.service.gpctl("restart", "again", "--from", "15", "--set", "schedule.decay_steps=16")
        run.wait(SECONDS_MAX)
        self.sink("mlflow", "again", "--to", self.uri)
        self.assertNotEqual(self.check(run).info.run_id, first.info.run_id)

    def test_a_killed_follower_loses_nothing(self):
        run = self.endless("killed")
        with self.following("mlflow", "killed", "--to", self.uri) as follower:
            wait_for("points in MLflow", self.has_points(run))
            follower.kill()
        run.cancel(now=True).wait(SECONDS_MAX, check=False)
        self.sink("mlflow", "killed", "--to", self.uri)
        self.assertEqual(self.check(run).info.status, "KILLED")

    def has_points(self, run):
        def look():
            try:
                return any(found.data.metrics for found in self.runs_in_mlflow(run))
            except Exception:  # the experiment is not there yet
                return False

        return look
