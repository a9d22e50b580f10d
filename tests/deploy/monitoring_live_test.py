#!/usr/bin/env python3
"""A real Prometheus, started by `gpctl up --monitoring`, while a run trains, loses a rank and is sampled from.

Runs every panel's query; panels for which such a service has data must show some. Checks that the alert rules are evaluated,
executes the commands of the runbooks, and draws the panels with scripts/render_dashboards where matplotlib is installed, into
$GP_RENDER_DIRECTORY if that is set.
"""

import datetime
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import monitoring
from monitoring import BIN, DASHBOARDS, RUNBOOKS, SOURCE

sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import wait_for  # noqa: E402

# Panels about GPUs, which this machine may not have.
NO_DATA = {"Utilisation", "Memory", "Temperature", "Power", "Usable, and memory errors"}
NAME = "observed"
SECONDS_MAX = 240


def missing():
    absent = [name for name in ("gpctl", "gp-coordinator", "gp-worker", "gp-trainer", "gp-gateway", "gp-sampler")
              if not (BIN / name).exists()]
    return monitoring.missing_tool() or (f"not built: {', '.join(absent)}" if absent else "")


def series_of(prometheus, path, **arguments):
    url = f"{prometheus}/api/v1/{path}?" + urllib.parse.urlencode(arguments)
    with urllib.request.urlopen(url, timeout=30) as answer:
        body = json.load(answer)
    assert body["status"] == "success", body
    return body["data"]


def trainer_of(worker):
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            parent = int(pathlib.Path(path).read_text().rsplit(")", 1)[1].split()[1])
            program = os.readlink(path.replace("/stat", "/exe"))
        except OSError:
            continue  # the process has ended
        if parent == worker and program.endswith("/gp-trainer"):
            return int(path.split("/")[2])
    return None


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="gp-monitoring-")
        cls.home = cls.scratch.name
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.environment = {**os.environ, "HOME": cls.home, "PATH": f"{BIN}:{os.environ['PATH']}"}
        cls.environment.pop("XDG_STATE_HOME", None)
        cls.state = os.path.join(cls.home, "state")
        cls.addClassCleanup(cls.gpctl, "down", "--state-dir", cls.state, "--now")
        cls.service = json.loads(cls.gpctl("up", "--detach", "--monitoring", "--workers", "2", "--state-dir", cls.state,
                                           "-o", "json"))
        cls.prometheus = cls.service["monitoring"]
        cls.start = time.time()
        cls.train()

    @classmethod
    def gpctl(cls, *arguments):
        done = subprocess.run([BIN / "gpctl", *arguments], env=cls.environment, cwd=cls.home, capture_output=True,
                              text=True, timeout=SECONDS_MAX)
        assert done.returncode == 0, f"gpctl {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    @classmethod
    def train(cls):
        """Trains a run of two ranks with checkpoints and evaluations that loses one rank once and recovers, and samples texts
        from it."""
        text = pathlib.Path(cls.home) / "text.txt"
        text.write_text("".join(f"{n} times {n} is {n * n}.\n" for n in range(20000)))
        (pathlib.Path(cls.home) / "run.yaml").write_text(
            f"apiVersion: gp/v1\nname: {NAME}\npreset: tiny\ndata: {{text: [{text}]}}\nresources: {{workers: 2, threads: 1}}\n"
            "budget: {steps: 1000000}\neval: {every: 40, batches: 1}\ncheckpoint: {every: 40}\n")
        # Prometheus must have scraped a counter before it rises, because a counter's first value is not an increase.
        cls.await_data("count_over_time(gp_coordinator_queue_wait_seconds_count[1m]) > 1")
        cls.gpctl("submit", "run.yaml")
        cls.gpctl("wait", NAME, "--for", "step=60", "--timeout", "120s")
        cls.await_data("count_over_time(gp_run_failures_total[1m]) > 1")
        os.kill(wait_for("a trainer runs", lambda: trainer_of(cls.service["worker_pid"])), signal.SIGKILL)
        cls.gpctl("wait", NAME, "--for", "step=120", "--timeout", "120s")
        wait_for("the gateway writes texts", cls.sample)

    @classmethod
    def await_data(cls, query):
        wait_for(query, lambda: cls.instant(query), seconds=SECONDS_MAX)

    @classmethod
    def instant(cls, query):
        return series_of(cls.prometheus, "query", query=query)["result"]

    @classmethod
    def sample(cls):
        body = json.dumps({"model": NAME, "prompt": "2 times", "max_tokens": 16}).encode()
        request = urllib.request.Request(cls.service["gateway"] + "/v1/completions", body,
                                         {"Content-Type": "application/json"})
        try:
            return json.load(urllib.request.urlopen(request, timeout=60))["choices"]
        except OSError:
            return None  # the model is still loading

    def test_1_every_panel_with_something_to_show_shows_it(self):
        wait_for("data in every panel", self.empty_panels, lambda empty: not empty, seconds=SECONDS_MAX)

    def empty_panels(self):
        """The panels without data since the start. Samples a text first, so that the gateway's panels have new data."""
        self.sample()
        empty = []
        for path in DASHBOARDS:
            for panel in monitoring.panels_of(monitoring.load(path)):
                found = [value for target in panel["targets"] for series in series_of(
                    self.prometheus, "query_range", query=monitoring.filled_in(target["expr"]), start=self.start,
                    end=time.time(), step=1)["result"] for _, value in series["values"] if value != "NaN"]
                if not found and panel["title"] not in NO_DATA:
                    empty.append(f"{path.stem}: {panel['title']}")
        return empty

    def test_2_the_failure_and_the_checkpoints_are_annotations(self):
        notes = {note["name"]: note["expr"] for note in monitoring.load(DASHBOARDS[-1])["annotations"]["list"]}
        for name, query in notes.items():
            found = series_of(self.prometheus, "query_range", query=monitoring.filled_in(query), start=self.start,
                              end=time.time(), step=1)["result"]
            self.assertTrue(found, name)

    def test_3_goodput_adds_up_to_the_time_since_the_submit(self):
        status = json.loads(self.gpctl("status", NAME, "-o", "json"))
        states = self.instant("gp_run_time_seconds_total")
        self.assertEqual({series["metric"]["state"] for series in states},
                         {"queued", "starting", "productive", "redone", "waiting", "paused"})
        seconds = {series["metric"]["state"]: float(series["value"][1]) for series in states}
        for state in ("starting", "productive", "redone", "waiting"):
            self.assertGreater(seconds[state], 0, state)
        at = float(self.instant("timestamp(gp_run_time_seconds_total{state='queued'})")[0]["value"][1])
        submitted = datetime.datetime.fromisoformat(status["submitted_at"].replace("Z", "+00:00")).timestamp()
        # The counters and the status are read at slightly different times.
        self.assertAlmostEqual(sum(seconds.values()), at - submitted, delta=3)

    def test_4_every_rule_is_evaluated_without_an_error(self):
        groups = series_of(self.prometheus, "rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertGreater(len(rules), 20)
        self.assertEqual([rule["name"] for rule in rules if rule["health"] != "ok"], [])
        # Only alerts for real events may fire here; GpRunRestarting would need two more failures.
        firing = {rule["name"] for rule in rules if rule.get("state") == "firing"}
        self.assertLessEqual(firing, {"GpLowGoodput", "GpDataStarved"})

    def test_5_every_program_is_scraped_and_its_page_is_sound(self):
        targets = {target["labels"]["job"]: target for target in series_of(self.prometheus, "targets")["activeTargets"]}
        self.assertEqual(set(targets), {"gp-coordinator", "gp-worker", "gp-gateway"})
        for job, target in targets.items():
            self.assertEqual(target["health"], "up", job)
            with urllib.request.urlopen(target["scrapeUrl"], timeout=30) as answer:
                page = answer.read().decode()
            checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            names = {line.split("{")[0].split(" ")[0] for line in page.splitlines() if line and line[0] != "#"}
            self.assertLessEqual({name for name in names if name.startswith(("gp_", "grpc_"))}, monitoring.exported())

    def test_6_the_commands_of_the_runbooks_work_as_typed(self):
        typed = set()
        for path in RUNBOOKS.glob("Gp*.md"):
            typed |= set(re.findall(r"^    (gpctl .*)$", path.read_text(), re.MULTILINE))
        self.assertGreater(len(typed), 8)
        for command in sorted(typed):
            self.gpctl(*command.replace("RUN", NAME).split()[1:], "--state-dir", self.state)

    def test_7_panels_are_drawn(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True).returncode != 0:
            self.skipTest("matplotlib is not installed: scripts/bootstrap --dev")
        out = os.environ.get("GP_RENDER_DIRECTORY", os.path.join(self.home, "drawings"))
        minutes = (time.time() - self.start) / 60
        subprocess.run([SOURCE / "scripts/render_dashboards", "--prometheus", self.prometheus, "--out", out,
                        "--minutes", f"{minutes:.2f}"], check=True, env=self.environment)
        for path in DASHBOARDS:
            drawing = pathlib.Path(out) / f"{path.stem}.png"
            self.assertGreater(drawing.stat().st_size, 20000, drawing)

    def test_8_it_keeps_its_port_and_goes_with_the_service(self):
        self.gpctl("down", "--now", "--state-dir", self.state)
        self.assertFalse(os.path.exists(f"/proc/{self.service['monitoring_pid']}"))
        again = json.loads(self.gpctl("up", "--detach", "--monitoring", "--state-dir", self.state, "-o", "json"))
        self.assertEqual(again["monitoring"], self.prometheus)
        # The earlier data is still there.
        self.assertTrue(wait_for("Prometheus answers", self.steps_of_before))

    def steps_of_before(self):
        try:
            return self.instant("max_over_time(gp_run_step[10m])")
        except urllib.error.HTTPError:
            return None  # 503 while it loads its stored data


if __name__ == "__main__":
    if missing():
        print(missing())
        sys.exit(77)
    unittest.main()
