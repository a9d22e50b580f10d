"""Runs that have trained go on: extended, paused, restarted, tried again and forked, with real trainers. What goes on gives
the same weights, byte for byte, as a run that was submitted so from the start."""

import json
import os
import pathlib
import shlex
import signal
import tempfile
import unittest

from local_service import LocalService
from waiting import wait_for

# More steps than a run can take during a test, however slow the commands are beside it.
ENDLESS = 10**9

RUN = """\
apiVersion: gp/v1
name: {name}
model: {{n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}}
data: {{text: [{text}], tokenizer: bytes, val_fraction: 0.1}}
resources: {{workers: {workers}, max_workers: 2, device: cpu}}
batch: {{micro_batch: 2, sequence: 16}}
optimizer: {{kind: {optimizer}, lr: 1e-3}}
schedule: {{kind: cosine, warmup_steps: 5, decay_steps: {decay}}}
budget: {{steps: {steps}}}
eval: {{every: 15, batches: 2}}
checkpoint: {{every: {every}, keep_last: 20}}
"""


class Service(LocalService):
    def refused(self, *arguments):
        done = self.run(*arguments)
        if done.returncode == 0:
            raise AssertionError(f"gpctl {arguments} was not refused: {done.stdout}")
        return done.stderr

    def submit(self, name, steps=30, decay=0, workers=1, every=5, optimizer="adamw", more=""):
        file = self.root / f"{name}.yaml"
        file.write_text(RUN.format(name=name, text=self.root / "text.txt", steps=steps, decay=decay, workers=workers, every=every,
                                   optimizer=optimizer) + more)
        self.gpctl("submit", str(file), "-d")

    def finish(self, name):
        self.gpctl("wait", name)

    def status(self, name):
        return json.loads(self.gpctl_json("status", name))

    def gpctl_json(self, *arguments):
        done = self.run(*arguments, "-o", "json")
        if done.returncode != 0:
            raise AssertionError(f"gpctl {arguments}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def state(self, name):
        return self.status(name)["state"]

    def step(self, name):
        return self.status(name)["progress"].get("step", 0)

    def weights(self, name, step):
        run = pathlib.Path(self.status(name)["run_directory"])
        newest = max(run.glob(f"checkpoints/step-{step:08}-*"), key=lambda path: int(path.name.split("-e")[1].split("-")[0]))
        return (newest / "model.safetensors").read_bytes()

    def losses(self, name):
        return {point["step"]: point["loss"] for point in map(json.loads, self.gpctl_json("metrics", name).splitlines())}

    def events(self, name):
        return [event["kind"] for event in map(json.loads, self.gpctl_json("events", name).splitlines())]


class SecondDay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-second-day-"))
        cls.service = Service(pathlib.Path(cls.root))
        cls.addClassCleanup(cls.service.run, "down")

    def test_an_extended_run_equals_one_that_was_submitted_so(self):
        service = self.service
        service.submit("short")
        service.submit("long", steps=50, decay=30)
        service.finish("short")
        said = service.gpctl("extend", "short", "--steps", "+20")
        self.assertIn("continues from step 30 to step 50", said)
        self.assertIn("the cosine schedule ended at step 30 (schedule.decay_steps)", said)
        service.finish("short")
        service.finish("long")
        self.assertEqual(service.weights("short", 50), service.weights("long", 50))
        self.assertEqual(service.losses("short"), service.losses("long"))
        self.assertIn("leg         2, from step 30: extended to 50 steps", service.gpctl("status", "short"))
        self.assertIn("at step 50, and its budget is 50 steps", service.refused("resume", "short"))

    def test_a_paused_run_goes_on_through_a_death_of_the_coordinator(self):
        service = self.service
        service.submit("paused", steps=ENDLESS, decay=1000, every=10000)
        wait_for("the run trains", lambda: service.step("paused") > 5)
        service.gpctl("pause", "paused")
        coordinator = int(json.loads((service.home / "state/gp/service.json").read_text())["coordinator"]["pid"])
        os.kill(coordinator, signal.SIGKILL)
        service.gpctl("up", "--detach", "--workers", "2")
        self.wait_until_paused()
        self.assertEqual(service.status("paused")["failures"], 0)
        self.assertIn("paused", service.gpctl("list"))
        first = service.step("paused")
        service.gpctl("resume", "paused")
        wait_for("the run trains again", lambda: service.step("paused") > first)
        service.gpctl("pause", "paused")
        self.wait_until_paused()
        last = service.status("paused")["latest_checkpoint_step"]
        self.assertGreater(last, first)
        service.submit("undisturbed", steps=last, decay=1000, every=10000)
        service.finish("undisturbed")
        self.assertEqual(service.weights("paused", last), service.weights("undisturbed", last))
        service.gpctl("cancel", "paused")

    def wait_until_paused(self):
        wait_for("the run is paused", lambda: self.service.state("paused"), until=lambda state: state == "paused")

    def test_a_restart_keeps_the_checkpoints_that_it_leaves_behind(self):
        service = self.service
        service.submit("again")
        service.finish("again")
        before = service.losses("again")
        first = service.weights("again", 30)
        service.gpctl("restart", "again", "--from", "10")
        service.finish("again")
        self.assertEqual(service.weights("again", 30), first)
        self.assertEqual(service.losses("again"), before)
        run = pathlib.Path(service.status("again")["run_directory"])
        self.assertEqual(len(list(run.glob("checkpoints/step-00000030-*"))), 2)
        self.assertTrue((run / "resolved-leg-1.yaml").exists())

    def test_a_fork_with_the_same_settings_equals_the_undisturbed_run(self):
        service = self.service
        for workers, optimizer in ((1, "adamw"), (2, "adamw"), (1, "muon")):
            base = f"base-{workers}-{optimizer}"
            service.submit(base, workers=workers, optimizer=optimizer)
            service.finish(base)
            said = service.gpctl("fork", f"{base}@15")
            self.assertIn("weights, optimizer, position in the data", said)
            self.assertIn("15 steps, from step 15 to step 30", said)
            fork = f"{base}-fork"
            service.finish(fork)
            self.assertEqual(service.weights(fork, 30), service.weights(base, 30), base)
            undisturbed = service.losses(base)
            self.assertEqual(service.losses(fork), {step: undisturbed[step] for step in range(16, 31)})
            self.assertEqual(service.status(fork)["parent"]["name"], base)
            self.assertRegex(service.gpctl("status", fork), rf"began with  {base}@15 \(\w+\), after 960 tokens")

    def test_a_fork_by_a_run_file_equals_the_undisturbed_run(self):
        service = self.service
        service.submit("by-hand")
        service.finish("by-hand")
        service.submit("by-hand-again", more="init_from: by-hand@15\ninit_optimizer: keep\ninit_data: keep\n")
        service.finish("by-hand-again")
        self.assertEqual(service.weights("by-hand-again", 30), service.weights("by-hand", 30))
        service.submit("weights-alone", more="init_from: by-hand@15\n")
        service.finish("weights-alone")
        self.assertEqual(min(service.losses("weights-alone")), 1)

    def test_a_fork_with_another_rate_is_shown_with_what_changed(self):
        service = self.service
        service.submit("rate")
        service.finish("rate")
        said = service.gpctl("fork", "rate@15", "--set", "optimizer.lr=5e-4", "--name", "slower")
        self.assertIn("changes   optimizer.lr 0.001 -> 0.0005", said)
        self.assertIn("in rate at step 15", said)
        service.finish("slower")
        self.assertNotEqual(service.weights("slower", 30), service.weights("rate", 30))
        lineage = service.gpctl("lineage", "slower")
        self.assertRegex(lineage, r"slower \(\w+\) \*  succeeded, step 30, val [\d.]+  from rate@15  optimizer.lr 0.001 -> 0.0005\n")
        said = service.gpctl("fork", "rate@15", "--set", "seed=7", "--dry-run")
        self.assertIn("begin at 0: seed changes", said)
        self.assertIn("30 steps, from the start to step 30", said)
        self.assertIn("Nothing was submitted", said)

    def test_a_fork_of_a_fork_counts_tokens_of_every_batch(self):
        service = self.service
        service.submit("tokens")  # 64 tokens a step
        service.finish("tokens")
        service.gpctl("fork", "tokens@15", "--tokens", "1920", "--set", "batch.total_tokens=128", "--name", "wider")
        self.assertEqual(service.status("wider")["progress"]["target_steps"], 22)
        service.finish("wider")
        wider = service.status("wider")
        self.assertEqual(wider["progress"]["step"], 22)
        self.assertEqual(wider["progress"]["tokens"], 960 + 7 * 128)
        service.gpctl("fork", "wider@20", "--tokens", "2240", "--set", "batch.total_tokens=192", "--name", "widest")
        self.assertEqual(service.status("widest")["progress"]["target_steps"], 23)
        self.assertEqual(service.status("widest")["parent"]["tokens"], 1600)
        service.finish("widest")
        widest = service.status("widest")
        self.assertEqual(widest["progress"]["step"], 23)
        self.assertEqual(widest["progress"]["tokens"], 1600 + 3 * 192)
        lineage = service.gpctl("lineage", "widest")
        self.assertIn("from wider@20  batch.total_tokens 128 -> 192", lineage)

    def test_a_run_that_trains_is_forked_and_keeps_what_the_fork_needs(self):
        service = self.service
        service.submit("trains", steps=ENDLESS, every=2000)
        wait_for("a checkpoint is sealed", lambda: service.status("trains").get("latest_checkpoint_step", 0) > 0)
        service.gpctl("fork", "trains", "--steps", "+10", "--name", "branch")
        service.finish("branch")
        self.assertEqual(service.status("branch")["progress"]["step"] % 2000, 10)
        service.gpctl("cancel", "trains")

    def test_kept_checkpoints_of_a_deleted_run_begin_another_that_equals_it(self):
        service = self.service
        service.submit("kept")
        service.finish("kept")
        weights = service.weights("kept", 30)
        kept = service.status("kept")
        checkpoint = next(pathlib.Path(kept["run_directory"]).glob("checkpoints/step-00000015-*"))
        service.gpctl("delete", "kept", "--keep-checkpoints", "--yes")
        self.assertIn("deleted", service.gpctl("du", "kept"))
        service.submit("heir", more=f"init_from: {checkpoint}\ninit_optimizer: keep\ninit_data: keep\n")
        service.finish("heir")
        self.assertEqual(service.weights("heir", 30), weights)
        heir = service.status("heir")
        self.assertEqual((heir["parent"]["name"], heir["parent"]["deleted"]), ("kept", True))
        self.assertEqual(heir["engine"]["kernels"], kept["engine"]["kernels"])
        self.assertIn("run heir began from a checkpoint of kept", service.refused("delete", kept["run_id"], "--yes"))
        service.gpctl("delete", kept["run_id"], "heir", "--yes")
        self.assertIn("was deleted by", service.refused("du", kept["run_id"]))

    def test_what_cannot_be_forked_is_refused_with_the_way_out(self):
        service = self.service
        service.submit("whole")
        service.finish("whole")
        said = service.refused("fork", "whole")
        self.assertIn("nothing is left to train", said)
        command = said[said.index("gpctl "):].strip().splitlines()[0]
        service.gpctl(*shlex.split(command)[1:], "--name", "longer")
        service.finish("longer")
        self.assertEqual(service.step("longer"), 60)
        self.assertIn("no sealed checkpoint of step 7; it has steps 5, 10", service.refused("fork", "whole@7"))
        self.assertIn("does not exist", service.refused("fork", "nobody"))
        self.assertIn("the weights of whole@15 have model.n_layer 1, not 2",
                      service.refused("fork", "whole@15", "--set", "model.n_layer=2"))
        self.assertIn("a fork has the tokenizer of its checkpoint",
                      service.refused("fork", "whole@15", "--set", "data.tokenizer=chars"))
        self.assertIn("--reset-optimizer", service.refused("fork", "whole@15", "--set", "optimizer.kind=muon"))
        self.assertIn("name", service.refused("fork", "whole@15", "--name", "../elsewhere"))
        service.gpctl("restart", "whole", "--from", "10", "--set", "eval.batches=1")
        service.finish("whole")
        said = service.gpctl("fork", "whole@15", "--dry-run")
        self.assertIn("15 steps, from step 15 to step 30", said)

    def test_what_cannot_go_on_is_refused_with_the_way_out(self):
        service = self.service
        service.submit("done")
        service.finish("done")
        self.assertIn("gpctl fork done --set optimizer.lr=1",
                      service.refused("extend", "done", "--steps", "40", "--set", "optimizer.lr=1"))
        self.assertIn("--steps 500 (the total)", service.refused("extend", "done"))
        self.assertIn("such as +200", service.refused("extend", "done", "--steps", "many"))
        self.assertIn("at step 30", service.refused("extend", "done", "--steps", "20"))
        self.assertIn("has no checkpoint of step 7", service.refused("restart", "done", "--from", "7"))
        self.assertIn("only a failed run can be retried", service.refused("retry", "done"))
        self.assertIn("only a run that waits or trains can be paused", service.refused("pause", "done"))
        self.assertIn("does not exist", service.refused("lineage", "nobody"))


if __name__ == "__main__":
    unittest.main()
