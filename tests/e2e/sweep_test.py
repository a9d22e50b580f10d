"""Sweeps with the real daemons and trainers: 12 trials on two slots through two kills of the coordinator, and successive halving,
whose winners have the weights of a run that trained without a break, byte for byte."""

import json
import os
import pathlib
import signal
import tempfile
import unittest

from local_service import LocalService
from waiting import wait_for

SWEEP_SECONDS_MAX = 500

RUN = """\
apiVersion: gp/v1
name: base
model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}
data: {text: [text.txt], tokenizer: bytes, val_fraction: 0.1}
resources: {workers: 1, device: cpu, threads: 1}
batch: {micro_batch: 2, sequence: 16}
optimizer: {lr: 1e-3}
schedule: {kind: cosine, warmup_steps: 5}
budget: {steps: 180}
eval: {every: 20, batches: 2}
checkpoint: {every: 60}
"""

SWEEP = """\
apiVersion: gp/v1
kind: Sweep
name: rates
run: base.yaml
grid:
  optimizer.lr: [1e-3, 3e-3, 1e-2]
  batch.micro_batch: [2, 4]
repeats: {seeds: [1, 2]}
max_parallel: 2
"""

HALVING = SWEEP.replace("name: rates", "name: halved") + "early_stop: {kind: halving, min_steps: 20, eta: 3}\n"


class Service(LocalService):
    """With base.yaml, the run file that the sweeps vary."""

    def __init__(self, root):
        super().__init__(root)
        (root / "base.yaml").write_text(RUN)

    def json(self, *arguments):
        done = self.run(*arguments, "-o", "json")
        if done.returncode != 0:
            raise AssertionError(f"gpctl {arguments}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def kill_coordinator(self):
        service = json.loads((self.home / "state/gp/service.json").read_text())
        os.kill(int(service["coordinator"]["pid"]), signal.SIGKILL)
        self.up()

    def submit(self, name, text, *arguments):
        (self.root / f"{name}.yaml").write_text(text)
        return self.run("sweep", "submit", f"{name}.yaml", *arguments)

    def sweep(self, name):
        return json.loads(self.json("sweep", "status", name))

    def wait_for_ended(self, name, count):
        wait_for(f"{count} trials of {name} have ended", lambda: self.sweep(name)["ended_trials"] >= count,
                 seconds=SWEEP_SECONDS_MAX)

    def finish(self, name):
        wait_for(f"{name} has ended", lambda: self.sweep(name)["state"],
                 until=lambda state: state not in ("running", "cancelling"), seconds=SWEEP_SECONDS_MAX)
        return self.sweep(name)

    def weights(self, run, step):
        directory = pathlib.Path(json.loads(self.json("status", run))["run_directory"])
        newest = max(directory.glob(f"checkpoints/step-{step:08}-*"))
        return (newest / "model.safetensors").read_bytes()

    def seconds_in_steps(self, sweep):
        """Of all trials: the time that their trainers spent in steps, on one thread each."""
        points = [json.loads(line) for trial in sweep["trials"] for line in self.json("metrics", trial["run_id"]).splitlines()]
        return sum(point["step_seconds"] for point in points)


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-sweep-"))
        cls.service = Service(pathlib.Path(cls.root))
        cls.addClassCleanup(cls.service.run, "down")

    def undisturbed(self, name, trial):
        """The weights of a run with the keys of the trial, submitted by itself."""
        settings = [word for key, value in trial["keys"].items() for word in ("--set", f"{key}={value}")]
        self.service.gpctl("submit", "base.yaml", "--name", name, *settings)
        self.service.gpctl("wait", name)
        return self.service.weights(name, 180)

    def test_1_a_grid_survives_two_kills_of_the_coordinator(self):
        service = self.service
        said = service.submit("rates", SWEEP, "--request-id", "once")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("Submitted sweep rates: 12 trials, 2 at a time", said.stdout)
        # At once: the name is free again when the sweep has ended.
        self.assertEqual(service.submit("rates", SWEEP).returncode, 5)
        service.wait_for_ended("rates", 2)
        service.kill_coordinator()
        again = service.submit("rates", SWEEP, "--request-id", "once")
        self.assertIn("Submitted before: sweep rates", again.stdout, again.stderr)
        service.wait_for_ended("rates", 7)
        service.kill_coordinator()
        sweep = service.finish("rates")
        print(service.gpctl("sweep", "status", "rates"), flush=True)
        self.assertEqual(sweep["state"], "succeeded")
        self.assertEqual([trial["state"] for trial in sweep["trials"]], ["done"] * 12)
        self.assertEqual(sweep["reason"], "12 of 12 trials have a validation loss")
        self.assertEqual(sweep["steps_trained"], 12 * 180)
        runs = json.loads(service.json("list", "--all", "--label", "sweep=rates"))["items"]
        self.assertEqual(len(runs), 12)
        losses = [candidate["val_loss_mean"] for candidate in sweep["candidates"]]
        self.assertEqual(losses, sorted(losses))
        best = service.gpctl("sweep", "best", "rates")
        print(best, flush=True)
        self.assertIn("@best", best)
        self.assertIn("wrote loss-optimizer.lr.svg", service.gpctl("sweep", "plot", "rates", "-o", "loss.svg"))
        self.assertIn("val_loss by batch.micro_batch", (service.root / "loss-batch.micro_batch.svg").read_text())
        print(service.gpctl("sweep", "plot", "rates"), flush=True)
        trial = sweep["trials"][6]
        self.assertEqual(service.weights(trial["run_id"], 180), self.undisturbed("alone", trial))

    def test_2_halving_trains_the_best_to_the_end(self):
        service = self.service
        said = service.submit("halved", HALVING)
        self.assertEqual(said.returncode, 0, said.stderr)
        sweep = service.finish("halved")
        print(service.gpctl("sweep", "status", "halved"), flush=True)
        self.assertEqual(sweep["state"], "succeeded")
        self.assertEqual(sweep["rungs"], [20, 60, 180])
        reached = sorted(trial["target_steps"] for trial in sweep["trials"])
        # One of three: of 12 trials 4 go on, and of these at least 1.
        self.assertGreaterEqual(reached.count(180), 1)
        self.assertGreaterEqual(reached.count(60) + reached.count(180), 4)
        self.assertLess(sweep["steps_trained"], sweep["steps_full"] / 2)
        winner = next(trial for trial in sweep["trials"] if trial["target_steps"] == 180)
        self.assertEqual(service.weights(winner["run_id"], 180), self.undisturbed("whole", winner))
        if json.loads(service.json("sweep", "list"))["items"][-1]["name"] == "rates":
            whole = service.seconds_in_steps(service.sweep("rates"))
            halved = service.seconds_in_steps(sweep)
            print(f"processor time in steps: {whole:.2f} s without early stopping, {halved:.2f} s with halving: "
                  f"{100 * (1 - halved / whole):.0f}% saved", flush=True)

    def test_3_what_cannot_run_is_refused_and_a_cancelled_sweep_ends(self):
        service = self.service
        many = SWEEP.replace("[2, 4]", str(list(range(1, 1001)))).replace("[1, 2]", str(list(range(1, 335))))
        refused = service.submit("many", many)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("the sweep has 1002000 trials (3 x 1000 x 334); at most 1000 are submitted", refused.stderr)
        wrong = service.submit("wrong", SWEEP.replace("rates", "wrong").replace("1e-2]", "-1]"))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("wrong.yaml:6:30: optimizer.lr must be", wrong.stderr)
        lost = service.submit("lost", SWEEP.replace("rates", "lost"), "--set", "budget.steps=1000000")
        self.assertEqual(lost.returncode, 0, lost.stderr)
        service.gpctl("sweep", "cancel", "lost")
        self.assertEqual(service.finish("lost")["state"], "cancelled")
        self.assertEqual(service.run("sweep", "watch", "lost").returncode, 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
