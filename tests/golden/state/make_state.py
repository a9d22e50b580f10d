#!/usr/bin/env python3
"""Makes a golden state: what a user of one version of gp has on disk, cut off while a run trains.

    tests/golden/state/make_state.py BIN OUT.tar.zst

BIN holds the programs of the version, OUT is the archive to write (README.md beside this file says what it holds and when a new one
is due). The home directory in the archive was killed, not stopped: each process got SIGKILL while the run `running` was training.
The runs use the instruction set level avx2, so that every machine of the last ten years goes on with equal bits.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

from waiting import wait_for  # noqa: E402

STEPS = 600
EVERY = 100
RUN = """\
apiVersion: gp/v1
name: {name}
model: {{n_layer: 2, n_head: 2, n_embd: 16, n_ctx: 32, bias: false}}
data: {{text: [{text}], tokenizer: chars}}
resources: {{workers: 1, device: cpu, threads: 1}}
batch: {{micro_batch: 32, sequence: 32}}
optimizer: {{lr: 4e-3{optimizer}}}
schedule: {{warmup_steps: 20}}
budget: {{steps: {steps}}}
eval: {{every: 200, batches: 4}}
sample: {{every: 200, prompt: "the ", max_tokens: 40}}
checkpoint: {{every: {every}, keep_last: 2, keep_best: true}}
seed: 7
"""
TEXT = "".join(f"the {size} {animal} {does} over the {lazy} dog, and the dog {says}.\n"
               for size in ("quick", "small", "old") for animal in ("fox", "cat", "hen") for does in ("jumps", "walks", "runs")
               for lazy in ("lazy", "tired", "sad") for says in ("barks", "sleeps", "looks", "waits"))


class Maker:
    def __init__(self, programs, root):
        self.programs = programs
        self.root = root
        self.home = root / "home"
        self.home.mkdir()
        self.text = root / "text.txt"
        self.text.write_text(TEXT)
        self.state = self.home / ".local/state/gp"
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "GP_ISA_MAX": "avx2"}

    def gpctl(self, *arguments, check=True):
        done = subprocess.run([self.programs / "gpctl", *arguments], env=self.environment, cwd=self.root, check=False,
                              capture_output=True, text=True, timeout=300)
        if check and done.returncode != 0:
            raise AssertionError(f"gpctl {arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def up(self):
        self.gpctl("up", "--detach", "--workers", "1")

    def kill(self):
        """SIGKILL to every process of the service, trainers and samplers too."""
        service = json.loads((self.state / "service.json").read_text())
        pids = [service[name]["pid"] for name in ("supervisor", "coordinator", "worker", "gateway") if service[name]["pid"]]
        for pid in list(pids):
            for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                pids += [int(child) for child in children.read_text().split()]
        for pid in dict.fromkeys(pids):
            os.kill(pid, signal.SIGSTOP)  # so that no process sees another one die
        for pid in dict.fromkeys(pids):
            os.kill(pid, signal.SIGKILL)
        for pid in dict.fromkeys(pids):
            wait_for(f"process {pid} is gone", lambda pid=pid: not pathlib.Path(f"/proc/{pid}").exists())

    def submit(self, name, *arguments, text=None, steps=STEPS, optimizer=""):
        path = self.root / f"{name}.yaml"
        path.write_text(RUN.format(name=name, text=text or self.text, steps=steps, every=EVERY, optimizer=optimizer))
        self.gpctl("submit", path, *arguments)

    def steps(self, name):
        listed = json.loads(self.gpctl("ckpt", "list", name, "-o", "json"))["items"]
        return sorted(item["step"] for item in listed if item["state"] == "sealed")

    def await_step(self, name, step):
        wait_for(f"{name} seals step {step}", lambda: max(self.steps(name), default=0) >= step)

    def await_state(self, name, state):
        wait_for(f"{name} is {state}", lambda: json.loads(self.gpctl("status", name, "-o", "json"))["state"],
                 lambda seen: seen == state)

    def checkpoints(self, name):
        """The directory of a run's checkpoints."""
        run = json.loads(self.gpctl("status", name, "-o", "json"))["run_id"]
        return self.state / "storage/runs" / run / "checkpoints"

    def fill(self):
        self.up()
        self.submit("succeeded", "--wait")
        self.gpctl("export", "succeeded", self.root / "exported")
        self.gpctl("import", self.root / "exported", "--name", "imported", "--to", self.root / "imported",
                   "--tokenizer", max(self.checkpoints("succeeded").glob("step-*/tokenizer.json")))
        shutil.rmtree(self.root / "exported")
        self.gpctl("token", "create", "--name", "ana", "--role", "submitter", "--out", self.root / "ana.token")
        self.gpctl("token", "create", "--name", "gone", "--role", "viewer", "--out", self.root / "gone.token")
        tokens = json.loads(self.gpctl("token", "list", "-o", "json"))["items"]
        self.gpctl("token", "revoke", next(token["id"] for token in tokens if token["name"] == "gone"))
        self.damage_a_muon_run()
        self.end_badly()
        self.have_a_second_day()
        self.submit("running")
        self.submit("queued", steps=STEPS // 5)
        self.await_step("running", STEPS // 3)
        self.kill()

    def damage_a_muon_run(self):
        """A Muon run whose newest checkpoint is damaged while everything is down: it goes into quarantine and the run goes on."""
        self.submit("muon", optimizer=", kind: muon, muon_lr: 0.01", steps=4 * STEPS)
        self.await_step("muon", 2 * EVERY)
        checkpoints = self.checkpoints("muon")
        self.kill()
        newest = max(checkpoints.glob("step-*/manifest.json")).parent / "model.safetensors"
        newest.write_bytes(newest.read_bytes()[:-64] + bytes(64))
        self.up()
        self.await_state("muon", "succeeded")
        if not list(checkpoints.glob("*.quarantined")):
            raise AssertionError("the damaged checkpoint was not sealed yet; run this again")

    def end_badly(self):
        """`failed` finds its text gone when its turn comes, `cancelled` is cancelled while it trains."""
        self.submit("cancelled", steps=1000 * STEPS)
        self.await_step("cancelled", EVERY)
        lost = self.root / "lost.txt"
        lost.write_text(TEXT)
        self.submit("failed", "--set", "retries.max=0", text=lost)
        lost.unlink()
        self.gpctl("cancel", "cancelled")
        self.await_state("cancelled", "cancelled")
        self.await_state("failed", "failed")

    def have_a_second_day(self):
        """`forked` from `succeeded` with another learning rate, and extended; `deleted` is deleted; `paused` waits for a resume."""
        self.gpctl("fork", f"succeeded@{STEPS - EVERY}", "--name", "forked", "--set", "optimizer.lr=2e-3", "--wait")
        self.gpctl("extend", "forked", "--steps", f"+{EVERY}")
        self.gpctl("wait", "forked")
        self.submit("deleted", "--wait", steps=EVERY)
        self.gpctl("delete", "deleted", "--yes")
        self.submit("paused")
        self.await_step("paused", EVERY)
        self.gpctl("pause", "paused")
        self.await_state("paused", "paused")

    def pack(self, archive):
        for path in self.state.glob("*.sock"):
            path.unlink()
        shutil.rmtree(self.state / "logs")
        for path in self.root.glob("*.yaml"):
            path.unlink()
        (self.root / "origin").write_text(f"{self.root}\n")
        subprocess.run(["tar", "--zstd", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-C", self.root, "-cf",
                        archive, "."], check=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    programs, archive = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="gp-golden-", dir="/tmp") as root:
        maker = Maker(programs.resolve(), pathlib.Path(root))
        try:
            maker.fill()
        except BaseException:
            subprocess.run([programs / "gpctl", "down"], env=maker.environment, check=False)
            raise
        maker.pack(archive.resolve())
    print(f"{archive}: {archive.stat().st_size} bytes")


if __name__ == "__main__":
    main()
