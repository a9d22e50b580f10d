"""The Python client with a real service: what it submits, follows and changes, and what interrupts it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings

import python_packages

python_packages.continue_there()

import gp  # noqa: E402
from local_service import ENDLESS, PROGRAMS, LocalService, wait_for  # noqa: E402

SECONDS_MAX = 120
FOLLOWERS = 200

# Follows a run, says so at the first point, and never ends by itself.
FOLLOWER = """
import sys, gp
for point in gp.connect().run(sys.argv[1]).metrics(follow=True):
    print(point.step, flush=True)
"""


class WithService(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = LocalService(pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-client-"))))
        cls.addClassCleanup(cls.service.down)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GPCTL_")}
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, {**kept, **cls.service.variables}, clear=True))
        cls.client = cls.enterClassContext(gp.connect())

    def setUp(self):
        warnings.simplefilter("ignore")  # those of micro runs; unittest restores the filters

    def submit(self, name, steps=30, **more):
        return self.client.submit(self.service.run_file(name, steps, **more))

    def endless(self, name):
        """A run that trains."""
        run = self.submit(name, ENDLESS, eval={"every": 100000}, schedule={"decay_steps": 1000}, checkpoint={"every": 50000})
        self.addCleanup(lambda: run.refresh().has_ended or run.cancel(now=True).wait(SECONDS_MAX, check=False))
        wait_for("the run trains", lambda: run.refresh().step > 5)
        return run


class Submitting(WithService):
    def test_a_run_from_a_dict_trains_to_its_end(self):
        run = self.submit("dict", labels={"team": "research"})
        self.assertIs(run.wait(SECONDS_MAX), run)
        self.assertEqual((run.state, run.step, run.target_steps, run.labels), ("succeeded", 30, 30, {"team": "research"}))
        self.assertLess(run.val_loss, 6)
        self.assertEqual(repr(run), f"<gp.Run dict ({run.id}): succeeded, step 30/30>")
        self.assertIn("trained to step 30", run.reason)

    def test_a_run_from_a_file_has_its_paths_and_overrides(self):
        path = self.service.root / "run.yaml"
        path.write_text(
            "name: file\npreset: tiny\nmodel: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\nbatch: {sequence: 16}\n"
            "data: {text: [text.txt]}\nbudget: {steps: 5}\n"
        )
        run = self.client.submit(path, overrides={"optimizer.lr": 5e-4, "budget.steps": 7}, name="other")
        self.assertEqual((run.name, run.wait(SECONDS_MAX).step), ("other", 7))
        self.assertIn("lr: 0.0005", run.resolved())
        self.assertIn(f"text: [{self.service.root / 'text.txt'}]", run.resolved())

    def test_every_problem_of_a_run_file_is_located_and_nothing_is_submitted(self):
        broken = self.service.run_file("broken")
        broken["optimizer"] = {"learning_rate": 1e-3}
        broken["model"]["n_layer"] = 0
        with self.assertRaises(gp.InvalidRunFile) as raised:
            self.client.submit(broken, overrides={"budget.stepz": 3})
        unknown, layers, override = sorted(raised.exception.problems, key=lambda problem: problem.message, reverse=True)[:3]
        problems = {problem.message: problem for problem in (unknown, layers, override)}
        key = problems["unknown key 'optimizer.learning_rate'"]
        self.assertEqual(
            (key.source, key.hint, key.excerpt.strip()), ("(dict)", "did you mean 'optimizer.lr'?", "learning_rate: 0.001")
        )
        self.assertEqual(problems["unknown key 'budget.stepz'"].source, "--set budget.stepz")
        self.assertEqual(self.client.runs(search="broken"), [])

    def test_warnings_point_at_the_line_that_submits(self):
        with self.assertWarnsRegex(
            UserWarning, r"^\(dict\):\d+:\d+: checkpoint.every 15 is longer than the run of 5 steps"
        ) as warned:
            self.submit("warned", 5)
        self.assertEqual(pathlib.Path(warned.filename).name, "service_test.py")

    def test_texts_that_mean_counts_and_durations_are_taken(self):
        run = self.submit(
            "counts",
            "2^3",
            retries={"backoff": "2s", "max": "1k"},
            checkpoint={"every": "auto"},
            seed=2**64 - 1,
            labels={"true": "null", "a b": "'x': #"},
        ).wait(SECONDS_MAX)
        self.assertEqual((run.step, run.labels), (8, {"true": "null", "a b": "'x': #"}))

    def test_a_repeated_request_gives_the_same_run(self):
        first = self.client.submit(self.service.run_file("once", 5), request_id="python-once")
        self.assertEqual(self.client.submit(self.service.run_file("once", 5), request_id="python-once").id, first.id)
        with self.assertRaises(gp.Conflict):
            self.client.submit(self.service.run_file("once", 6), request_id="python-once")

    def test_what_is_missing_is_said(self):
        run = self.submit("short", 5).wait(SECONDS_MAX)
        with self.assertRaisesRegex(gp.NotFound, "'nobody' does not exist"):
            self.client.run("nobody")
        with self.assertRaisesRegex(gp.NotFound, "has no checkpoint of step 4; it has steps: 5"):
            run.fork(4)
        with self.assertRaisesRegex(gp.Conflict, "only a run that waits or trains can be paused"):
            run.pause()

    def test_a_run_that_fails_or_is_cancelled_raises(self):
        run = self.endless("cancelled")
        with self.assertRaisesRegex(gp.WaitTimeout, "has not ended within 0.2 s; it is running"):
            run.wait(0.2)
        run.cancel()
        with self.assertRaisesRegex(gp.RunCancelled, "run cancelled .* was cancelled"):
            run.wait(SECONDS_MAX)
        self.assertEqual(run.wait(check=False).state, "cancelled")
        lost = self.service.root / "lost.txt"
        lost.write_text("short")
        run = self.submit("failed", data={"text": [lost], "tokenizer": "bytes"}, retries={"max": 0})
        with self.assertRaisesRegex(gp.RunFailed, "run failed .* failed: "):
            run.wait(SECONDS_MAX)


class Reading(WithService):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_done = cls.client.submit(cls.service.run_file("done", 60)).wait(SECONDS_MAX)

    def test_metrics_are_those_of_gpctl(self):
        points = list(self.run_done.metrics())
        self.assertEqual([point.step for point in points], list(range(1, 61)))
        self.assertEqual([point.step for point in points if point.val_loss is not None], [15, 30, 45, 60])
        self.assertEqual([point.step for point in self.run_done.metrics(after_step=58)], [59, 60])
        shown = [line.split(",") for line in self.service.gpctl("metrics", "done", "--format", "csv").splitlines()]
        column = shown[0].index("loss")
        self.assertEqual([point.loss for point in points], [float(row[column]) for row in shown[1:]])

    def test_a_frame_has_a_row_for_each_step(self):
        frame = self.run_done.frame()
        self.assertEqual(list(frame.index), list(range(1, 61)))
        self.assertEqual(list(frame["val_loss"].dropna().index), [15, 30, 45, 60])
        self.assertEqual(str(frame["at"].dt.tz), "UTC")

    def test_checkpoints_logs_and_events_are_listed(self):
        self.assertEqual(
            [(one.step, one.latest) for one in self.run_done.checkpoints()], [(15, False), (30, False), (45, False), (60, True)]
        )
        self.assertEqual([event.kind for event in self.run_done.events()][0], "submitted")
        self.assertGreater(len(list(self.run_done.logs(rank=-1))), 0)
        self.assertEqual(len(list(self.run_done.logs(tail=1))), 1)

    def test_a_notebook_shows_a_chart(self):
        shown = self.run_done._repr_html_()
        for text in ("<svg", ">loss</text>", ">val_loss</text>", "succeeded", "step 60/60"):
            self.assertIn(text, shown)

    def test_samples_come_from_the_gateway(self):
        text = self.run_done.sample("the ", max_tokens=20, seed=7)
        self.assertEqual(self.run_done.sample("the ", max_tokens=20, seed=7), text)
        self.assertGreater(len(text), 0)
        self.assertNotEqual(self.run_done.sample("the ", step=15, max_tokens=20, seed=7), text)
        with self.assertRaisesRegex(gp.InvalidRequest, "temperature"):
            self.run_done.sample("the ", temperature=-1)
        with gp.connect(gateway="http://127.0.0.1:1") as client:
            with self.assertRaisesRegex(gp.Unreachable, "the gateway at http://127.0.0.1:1 cannot be reached"):
                client.run("done").sample("the ")


class Changing(WithService):
    def test_a_fork_with_the_same_settings_repeats_its_parent(self):
        base = self.submit("base").wait(SECONDS_MAX)
        fork = base.fork(15)
        self.assertEqual((fork.name, fork.parent), ("base-fork", "base@15"))
        fork.wait(SECONDS_MAX)
        self.assertEqual(
            {point.step: point.loss for point in fork.metrics()},
            {point.step: point.loss for point in base.metrics(after_step=15)},
        )
        other = base.fork(15, overrides={"optimizer.lr": 5e-4}, steps="+30")
        self.assertEqual((other.name, other.wait(SECONDS_MAX).step), ("base-fork-2", 45))
        with self.assertRaisesRegex(gp.InvalidRequest, r"nothing is left to train; give the fork more: steps='\+30'"):
            base.fork()

    def test_forks_of_gpctl_and_of_python_are_equal(self):
        base = self.submit("origin").wait(SECONDS_MAX)
        for name, options, arguments in (
            ("plain", [], {}),
            ("longer", ["--steps", "+30"], {"steps": "+30"}),
            ("seeded", ["--set", "seed=7"], {"overrides": {"seed": 7}}),
        ):
            self.service.gpctl("fork", "origin@15", "--name", f"gpctl-{name}", *options)
            ours = base.fork(15, name=f"python-{name}", **arguments).resolved()
            self.assertEqual(ours.replace("python-", "gpctl-"), self.client.run(f"gpctl-{name}").resolved())

    def test_an_ended_run_is_extended_and_compared(self):
        run = self.submit("extended").wait(SECONDS_MAX)
        run.extend("+20").wait(SECONDS_MAX)
        self.assertEqual(run.step, 50)
        slower = self.submit("slower", optimizer={"lr": 5e-4}).wait(SECONDS_MAX)
        compared = gp.compare(run, slower)
        self.assertEqual(compared.differences["optimizer.lr"], ("0.001", "0.0005"))
        self.assertEqual(set(compared.differences), {"name", "optimizer.lr", "budget.steps", "schedule.decay_steps"})
        self.assertEqual((compared.field, [row.step for row in compared.rows]), ("val_loss", [15, 30]))
        self.assertGreater(compared.rows[-1].difference, 0)
        self.assertEqual(list(compared.frame().index), [15, 30])
        self.assertIn("optimizer.lr: 0.001 -> 0.0005", str(gp.compare("extended", "slower")))
        self.assertIn("<svg", compared._repr_html_())
        with self.assertRaisesRegex(gp.InvalidRequest, "expected the total, such as 500, or what is added"):
            run.extend("many")

    def test_a_run_is_paused_and_goes_on(self):
        run = self.endless("paused")
        run.pause()
        wait_for("the run is paused", lambda: run.refresh().state == "paused")
        first = run.step
        run.resume()
        wait_for("the run continues", lambda: run.refresh().step > first)

    def test_labels_and_notes_find_runs_again(self):
        run = self.submit("labelled", 5).wait(SECONDS_MAX)
        run.label(team="research", old="1", **{"a-b": "c"}).write_note("keep this")
        run.label(old=None)
        [found] = gp.runs(labels={"team": "research", "a-b": "c"}, states=["succeeded"])
        self.assertEqual((found.id, found.labels, found.note), (run.id, {"team": "research", "a-b": "c"}, "keep this"))
        self.assertEqual(gp.runs(labels={"old": "1"}), [])
        self.assertEqual([run.name for run in gp.runs(limit=1)], [self.client.runs()[0].name])
        with self.assertRaisesRegex(gp.InvalidRequest, "'runing' is no state of a run; expected one of: .*running"):
            gp.runs(states=["runing"])


class Sweeping(WithService):
    def sweep_file(self, name, **more):
        run = self.service.run_file("base", 20)
        return {"name": name, "run": run, "grid": {"optimizer.lr": [1e-3, 3e-3]}, "repeats": {"seeds": [1, 2]}, **more}

    def test_a_sweep_trains_its_trials_and_ranks_them(self):
        found = self.client.submit_sweep(self.sweep_file("rates"))
        self.assertIs(found.wait(SECONDS_MAX), found)
        self.assertEqual((found.state, [trial.state for trial in found.trials]), ("succeeded", ["done"] * 4))
        shown = json.loads(self.service.gpctl("sweep", "status", "rates", "-o", "json"))
        ours = [(one.keys, one.mean, one.spread, [trial.number for trial in one.trials]) for one in found.ranking()]
        theirs = [(one["keys"], one["val_loss_mean"], one["val_loss_deviation"], one["trials"]) for one in shown["candidates"]]
        for mine, other in zip(ours, theirs, strict=True):
            self.assertEqual((mine[0], mine[3]), (other[0], other[3]))
            self.assertAlmostEqual(mine[1], other[1], places=12)
            self.assertAlmostEqual(mine[2], other[2], places=12)
        best = json.loads(self.service.gpctl("sweep", "best", "rates", "-o", "json"))
        self.assertEqual((found.best().number, found.best().val_loss), (best["number"], best["val_loss"]))
        self.assertEqual(found.run(found.best()).labels["sweep"], "rates")
        self.assertEqual(list(found.frame()["optimizer.lr"]), [1e-3, 1e-3, 3e-3, 3e-3])
        self.assertEqual([one.name for one in self.client.sweeps()][:1], ["rates"])
        self.assertEqual(repr(self.client.sweep("rates")), "<gp.Sweep rates: succeeded, 4/4 trials have ended>")

    def test_a_cancelled_sweep_begins_no_trial_and_its_name_is_free_again(self):
        found = self.client.submit_sweep(
            self.sweep_file("endless", max_parallel=1), overrides={"budget.steps": ENDLESS, "schedule.decay_steps": 1000}
        )
        with self.assertRaisesRegex(gp.Conflict, "there is a sweep 'endless' already, .* which has not ended"):
            self.client.submit_sweep(self.sweep_file("endless"))
        with self.assertRaisesRegex(gp.WaitTimeout, "sweep endless has not ended within 0.1 s"):
            found.wait(0.1)
        found.cancel()
        with self.assertRaisesRegex(gp.RunCancelled, "sweep endless was cancelled"):
            found.wait(SECONDS_MAX)
        with self.assertRaisesRegex(gp.InvalidRequest, "trial 4 of sweep endless has not begun"):
            found.run(4)
        again = self.client.submit_sweep(self.sweep_file("endless"), overrides={"budget.steps": 5}, request_id="again")
        self.assertEqual(self.client.submit_sweep(self.sweep_file("endless"), overrides={"budget.steps": 5},
                                                  request_id="again").submitted_at, again.submitted_at)
        self.assertEqual(again.wait(SECONDS_MAX).state, "succeeded")

    def test_problems_of_a_sweep_file_are_located(self):
        with self.assertRaises(gp.InvalidRunFile) as raised:
            self.client.submit_sweep({"name": "bad", "run": self.service.run_file("base"), "grid": {"optimizer.lr": ["x"]}})
        [problem] = raised.exception.problems
        self.assertEqual(problem.source, "(dict)")
        self.assertIn("optimizer.lr must be", problem.message)
        with self.assertRaisesRegex(gp.NotFound, "there is no sweep 'nothing'"):
            self.client.sweep("nothing")


class OverTls(unittest.TestCase):
    """A service on TCP: TLS with the authority that `gpctl login` stored, and a token."""

    @classmethod
    def setUpClass(cls):
        root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-client-")))
        cls.service = LocalService(root, "--listen", "127.0.0.1:0", "--data-root", root)
        cls.addClassCleanup(cls.service.down)
        cls.token = root / "token"
        cls.service.gpctl("token", "create", "--name", "ana", "--role", "submitter", "--out", cls.token)
        cls.address = json.loads((cls.service.state_dir / "coordinator.address").read_text())["listen"]
        cls.user = root / "ana"
        variables = {"HOME": str(cls.user), "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GPCTL_")}
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, {**kept, **variables}, clear=True))
        subprocess.run([PROGRAMS / "gpctl", "login", cls.address, "--token-file", cls.token], check=True, capture_output=True)

    def test_the_context_of_a_login_has_all_that_is_needed(self):
        with gp.connect() as client:
            self.assertEqual(client.address, self.address)
            run = client.submit(self.service.run_file("remote", 15)).wait(SECONDS_MAX)
            self.assertEqual((run.step, run.submitted_by), (15, "user ana"))
            with self.assertRaisesRegex(gp.NotFound, r"no gateway is known .* gp.connect\(gateway='http://HOST:PORT'\)"):
                run.sample("the ")

    def test_arguments_name_the_same_things(self):
        [authority] = (self.user / ".config" / "gpctl").glob("**/*.crt")
        with gp.connect(self.address, token_file=self.token, ca_file=authority) as client:
            self.assertIsInstance(client.runs(), list)
        with self.assertRaisesRegex(gp.NotAllowed, "token"):
            gp.connect(self.address, ca_file=authority)
        with self.assertRaisesRegex(gp.Unreachable, "this call did not use TLS"):
            gp.connect(self.address, timeout=0.5)

    def test_another_authority_is_refused(self):
        other = self.user / "other.crt"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=other",
                "-keyout",
                "/dev/null",
                "-out",
                other,
            ],
            check=True,
            capture_output=True,
        )
        with self.assertRaisesRegex(gp.Unreachable, "cannot be reached"):
            gp.connect(self.address, token_file=self.token, ca_file=other, timeout=1)


class Interrupted(WithService):
    def test_a_stream_goes_on_through_the_death_of_the_coordinator(self):
        run = self.endless("survives")
        points = run.metrics(follow=True)
        steps = [next(points).step]
        os.kill(self.service.coordinator_pid(), signal.SIGKILL)
        last = run.step
        restarted = threading.Thread(target=self.service.up)
        restarted.start()
        self.addCleanup(restarted.join)
        while steps[-1] < last + 1000 or restarted.is_alive():
            steps.append(next(points).step)
        self.assertEqual(steps, list(range(steps[0], steps[-1] + 1)))
        self.assertGreater(run.refresh().step, last)
        points.close()

    def test_a_wait_goes_on_through_the_death_of_the_coordinator(self):
        run = self.endless("awaited")
        waited = threading.Thread(target=lambda: run.wait(SECONDS_MAX, check=False))
        waited.start()
        os.kill(self.service.coordinator_pid(), signal.SIGKILL)
        self.service.up()
        self.client.run(run.id).cancel()
        waited.join(SECONDS_MAX)
        self.assertEqual(run.state, "cancelled")

    def test_a_killed_client_leaves_the_run_and_the_service_alone(self):
        run = self.endless("followed")
        followers = [subprocess.Popen([sys.executable, "-c", FOLLOWER, run.id], stdout=subprocess.PIPE) for _ in range(3)]
        for follower in followers:
            self.assertGreater(int(follower.stdout.readline()), 0)
            follower.kill()
            follower.communicate()
        step = run.refresh().step
        wait_for("the run continues", lambda: run.refresh().step > step)
        self.assertEqual(run.state, "running")

    def test_two_hundred_clients_follow_one_run(self):
        run = self.endless("popular")
        reached, enough = [], 200
        ready = threading.Barrier(FOLLOWERS + 1, timeout=SECONDS_MAX)

        def follow():
            with gp.connect(timeout=SECONDS_MAX) as client:
                points = client.run(run.id).metrics(follow=True)
                first = next(points).step
                ready.wait()
                steps = [first] + [next(points).step for _ in range(enough)]
                points.close()
            if steps == list(range(first, first + enough + 1)):
                reached.append(first)

        followers = [threading.Thread(target=follow) for _ in range(FOLLOWERS)]
        for follower in followers:
            follower.start()
        ready.wait()
        for follower in followers:
            follower.join(SECONDS_MAX)
        self.assertEqual(len(reached), FOLLOWERS)
        self.assertEqual(run.refresh().state, "running")

    def test_a_stopped_service_is_said_at_once(self):
        self.service.down()
        self.addCleanup(self.service.up)
        with self.assertRaisesRegex(
            gp.Unreachable, f"the service in {self.service.state_dir} is stopped; 'gpctl up' starts it"
        ):
            self.client.runs()
        with self.assertRaisesRegex(gp.Unreachable, "is stopped"):
            gp.connect()


if __name__ == "__main__":
    unittest.main()
