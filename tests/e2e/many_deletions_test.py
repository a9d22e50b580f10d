"""Half of many runs are deleted while the coordinator is killed again and again: the disk shows it, nothing else is lost, and
the coordinator's memory and the time of a list stay flat.

    many_deletions_test.py SUBMIT_RATE

GP_MANY_RUNS=1000 in the environment is the full size. The runs are cancelled before they start, so no agent is needed.
"""

import hashlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from waiting import SECONDS_MAX, wait_for

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
RUNS = int(os.environ.get("GP_MANY_RUNS", "120"))
KILLS = 10
LISTS = 5

# Where the coordinator dies, in turn: before and after the decision, and while files are removed.
POINTS = ["store.before_commit", "run_directories.before_delete", "store.after_commit", "run_directories.checkpoints_deleted",
          "reconciler.before_answer", "run_directories.after_delete"]

# About as long as the files that people write.
RUN = """\
apiVersion: gp/v1
name: tiny
model: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}
data: {text: [/data/text.txt], tokenizer: bytes}
resources: {workers: 1, device: cpu}
batch: {micro_batch: 2, sequence: 16}
budget: {steps: 100}
""" + "# A note that makes the file about as long as one with comments.\n" * 20

submit_rate = sys.argv.pop()


class Service:
    """A coordinator whose processes are killed, with its own home."""

    def __init__(self, root):
        self.root = root
        self.storage = root / "storage"
        self.state = root / "state"
        self.socket = root / "coordinator.sock"
        (root / "home").mkdir()
        self.process = None

    def start(self, failpoint=""):
        address = self.root / "address.json"
        address.unlink(missing_ok=True)
        environment = {**os.environ, "HOME": str(self.root / "home"), "GP_FAILPOINT": failpoint}
        with open(self.root / "coordinator.log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [PROGRAMS / "gp-coordinator", "--state-dir", self.state, "--storage-root", self.storage, "--socket", self.socket,
                 "--metrics-listen", "127.0.0.1:0", "--address-file", address], stdout=log, stderr=log, env=environment)
        wait_for("the coordinator serves", address.exists, process=self.process)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def gpctl(self, *arguments, timeout="15s"):
        environment = {**os.environ, "HOME": str(self.root / "home"), "GPCTL_SERVER": f"unix:{self.socket}"}
        return subprocess.run([PROGRAMS / "gpctl", *arguments, "--timeout", timeout], check=False, capture_output=True, text=True,
                              timeout=SECONDS_MAX, cwd=self.root, env=environment)

    def submit(self, count):
        file = self.root / "run.yaml"
        file.write_text(RUN)
        subprocess.run([submit_rate, f"unix:{self.socket}", file, "1", str(count)], check=True, stdout=subprocess.DEVNULL)

    def listed(self):
        """The names of all runs, by id. A coordinator that has died is started again."""
        while True:
            if self.process.poll() is not None:
                self.start()
            done = self.gpctl("list", "-a", "--limit", "1000000", "-o", "json", timeout="2s")
            if done.returncode == 0:
                return {run["run_id"]: run["name"] for run in json.loads(done.stdout)["items"]}
            # A failpoint in the removal of files kills the coordinator after it has answered.
            wait_for("the coordinator that did not answer has died: " + done.stderr, self.process.poll,
                     lambda status: status is not None)

    def resident_kib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def list_seconds(self):
        times = []
        for _ in range(LISTS):
            begin = time.monotonic()
            done = self.gpctl("list", "-a", "-q")
            times.append(time.monotonic() - begin)
            assert done.returncode == 0, done.stderr
        return statistics.median(times)

    def directories(self):
        return {path.name for path in (self.storage / "runs").iterdir()}


def digest(directory):
    """Of the names and the content of all files."""
    total = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        total.update(str(path.relative_to(directory)).encode())
        if path.is_file():
            total.update(path.read_bytes())
    return total.hexdigest()


class ManyDeletions(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.service = Service(pathlib.Path(directory.name))
        self.service.start()
        self.addCleanup(lambda: self.service.kill())

    def make_runs(self):
        """Makes runs that have ended, with a file that stands for their checkpoints; returns their names by id."""
        self.service.submit(RUNS)
        runs = self.service.listed()
        self.assertEqual(len(runs), RUNS)
        ids = sorted(runs)
        for begin in range(0, RUNS, 100):
            done = self.service.gpctl("cancel", *ids[begin:begin + 100])
            self.assertEqual(done.returncode, 0, done.stderr)
        for run in ids:
            directory = self.service.storage / "runs" / run
            wait_for("the run's directory exists", (directory / "run.yaml").exists)
            checkpoint = directory / "checkpoints" / "unsealed"
            checkpoint.mkdir(parents=True)
            (checkpoint / "model").write_bytes(os.urandom(4096))
        return runs

    def delete_under_kills(self, doomed):
        """Deletes these runs; each of the first coordinators dies at a point of a deletion, or is killed after some."""
        share = max(1, len(doomed) // KILLS)
        kills = 0
        while True:
            left = sorted(doomed & set(self.service.listed()))
            if not left and kills >= KILLS:
                return kills
            if kills < KILLS:
                self.service.kill()
                self.service.start(f"{POINTS[kills % len(POINTS)]}:kill@{1 + kills % share}")
                kills += 1
            if left:
                self.service.gpctl("delete", *left[:share], "--yes", timeout="1s")

    def test_half_of_the_runs_are_deleted_through_kills(self):
        service = self.service
        empty_kib = service.resident_kib()
        short_list = service.list_seconds()
        runs = self.make_runs()
        service.kill()
        service.start()
        full_kib, long_list = service.resident_kib(), service.list_seconds()
        ids = sorted(runs)
        doomed, kept = set(ids[::2]), set(ids[1::2])
        before = {run: digest(service.storage / "runs" / run) for run in kept}

        kills = self.delete_under_kills(doomed)
        self.assertEqual(set(service.listed()), kept)
        service.kill()
        service.start()
        wait_for("the disk shows the deletions", service.directories, lambda names: names == kept)
        links = {path.name.rsplit("-", 1)[1] for path in (service.storage / "tensorboard").iterdir()}
        self.assertEqual(links, kept)
        self.assertEqual(set(service.listed()), kept)
        self.assertEqual({run: digest(service.storage / "runs" / run) for run in kept}, before)

        gone = service.gpctl("status", ids[0])
        self.assertEqual(gone.returncode, 3)
        self.assertIn("was deleted by owner at", gone.stderr)
        again = service.gpctl("status", ids[1])
        self.assertEqual(again.returncode, 0, again.stderr)

        half_kib, half_list = service.resident_kib(), service.list_seconds()
        print(f"{RUNS} runs, {len(doomed)} deleted through {kills} kills")
        print(f"memory: {empty_kib} KiB without runs, {full_kib} with {RUNS}, {half_kib} with {len(kept)}: "
              f"{(full_kib - empty_kib) / RUNS:.1f} KiB a run")
        print(f"list: {short_list * 1e3:.0f} ms without runs, {long_list * 1e3:.0f} with {RUNS}, {half_list * 1e3:.0f} at the end")
        # An ended run keeps its numbers in memory, not its run files; a list shows one page.
        self.assertLess(full_kib - empty_kib, 8 * 1024 + 8 * RUNS)
        self.assertLess(long_list, short_list + 1)


if __name__ == "__main__":
    unittest.main()
