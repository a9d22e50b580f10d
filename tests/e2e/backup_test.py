"""The coordinator's state is backed up under load; later it is lost, and the backup is restored. Finished runs, the catalogue,
tokens, the authority and the audit log are there again. A run that trained meanwhile continues from its newest checkpoint,
although the backup lists none of the checkpoints that still exist."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from waiting import SECONDS_MAX, wait_for

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PROGRAMS = pathlib.Path(os.environ["GP_BIN"])

# So many steps that the test decides when the run ends.
RUN = """\
apiVersion: gp/v1
name: {name}
model: {{n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}}
data: {{text: [{text}], tokenizer: bytes}}
resources: {{workers: 1, device: cpu}}
batch: {{micro_batch: 2, sequence: 16}}
budget: {{steps: {steps}}}
checkpoint: {{every: 200, keep_last: 2}}
"""


class Service:
    """A coordinator and an agent as processes that share a directory."""

    def __init__(self, root):
        self.root = root
        self.state = root / "state"
        self.socket = root / "coordinator.sock"
        self.home = root / "home"
        self.home.mkdir()
        (root / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 400)
        self.coordinator = self.agent = None

    def spawn(self, program, *arguments):
        with open(self.root / f"{program}.log", "a", encoding="utf-8") as log:
            return subprocess.Popen([PROGRAMS / program, *arguments, "--metrics-listen", "127.0.0.1:0"], stdout=log,
                                    stderr=log, env={**os.environ, "HOME": str(self.home)})

    def start_coordinator(self):
        address = self.root / "address.json"
        address.unlink(missing_ok=True)
        self.coordinator = self.spawn("gp-coordinator", "--state-dir", self.state, "--storage-root", self.root / "storage",
                                      "--socket", self.socket, "--listen", "127.0.0.1:0", "--address-file", address)
        wait_for("the coordinator serves", address.exists, process=self.coordinator)
        return json.loads(address.read_text())["listen"]

    def start_agent(self, state):
        self.agent = self.spawn("gp-worker", "--coordinator", f"unix:{self.socket}", "--state-dir", self.root / state,
                                "--storage-root", self.root / "storage", "--slots", "1")

    def trainer(self):
        """The pid of the agent's only trainer."""
        children = [int(number) for path in pathlib.Path(f"/proc/{self.agent.pid}/task").glob("*/children")
                    for number in path.read_text().split()]
        return next(pid for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("gp-trainer"))

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self):
        for process in (self.agent, self.coordinator):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(40)
                except subprocess.TimeoutExpired:
                    self.kill(process)

    def gpctl(self, *arguments, server=True, check=True):
        command = [PROGRAMS / "gpctl", *arguments] + (["--server", f"unix:{self.socket}"] if server else [])
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS_MAX,
                              env={**os.environ, "HOME": str(self.home)})
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def act(self, *arguments, check=True):
        """Runs an operator's command of gp-coordinator, while another gp-coordinator serves."""
        done = subprocess.run([PROGRAMS / "gp-coordinator", "--state-dir", self.state, *arguments], check=False,
                              capture_output=True, text=True, timeout=SECONDS_MAX)
        if check and done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout + done.stderr

    def submit(self, name, steps=1_000_000):
        path = self.root / f"{name}.yaml"
        path.write_text(RUN.format(name=name, text=self.root / "text.txt", steps=steps))
        self.gpctl("submit", path)

    def state_of(self, name):
        return json.loads(self.gpctl("status", name, "-o", "json"))

    def steps(self, name):
        """The steps of the run's checkpoints in the catalogue, in ascending order."""
        return sorted(item["step"] for item in json.loads(self.gpctl("ckpt", "list", name, "-o", "json"))["items"])

    def await_checkpoints(self, name, count):
        """Waits until `count` more checkpoints are sealed."""
        goal = max(self.steps(name), default=0) + 200 * count
        return wait_for(f"{name} seals step {goal}", lambda: self.steps(name), lambda steps: max(steps, default=0) >= goal)


@contextlib.contextmanager
def load(service):
    """Submits and cancels runs and creates tokens until it is stopped."""
    done, failures = threading.Event(), []

    def work(number):
        try:
            for count in itertools.count():
                if done.is_set():
                    return
                name = f"load-{number}-{count}"
                service.submit(name)
                service.gpctl("token", "create", "--name", name, "--role", "viewer", "--out", service.root / name)
                service.gpctl("cancel", name)
        except AssertionError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


class Backup(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gp-backup-")))
        self.service = Service(self.root)
        self.addCleanup(self.service.stop)
        self.service.start_coordinator()
        self.service.start_agent("agent")
        self.service.submit("done", steps=400)
        self.service.gpctl("wait", "done")
        self.service.submit("lm")
        self.service.await_checkpoints("lm", 1)
        self.service.gpctl("token", "create", "--name", "alice", "--role", "submitter", "--out", self.root / "alice.token")

    def back_up_under_load(self):
        with load(self.service):
            self.service.await_checkpoints("lm", 1)
            print(self.service.act("--backup", self.root / "monday"), end="")
            # Wait until retention has removed every checkpoint that the backup lists.
            self.service.await_checkpoints("lm", 4)

    def lose_and_restore(self):
        self.service.kill(self.service.coordinator)
        shutil.rmtree(self.service.state)
        said = self.service.act("--restore", self.root / "monday")
        print(said, end="")
        return said, self.service.start_coordinator()

    def expect_everything_back(self, before, listen):
        self.assertEqual(self.service.state_of("done")["state"], "succeeded")
        self.assertEqual(self.service.steps("done"), before)
        self.assertIn("alice", self.service.gpctl("token", "list"))
        self.service.gpctl("login", listen, "--token-file", self.root / "alice.token", server=False)
        self.assertIn("alice", self.service.gpctl("whoami", server=False))
        self.assertIn("intact", self.service.gpctl("audit", "verify"))
        self.assertIn("intact", self.service.gpctl("audit", "verify", self.root / "monday/audit", server=False))
        self.assertEqual(len(self.service.gpctl("metrics", "done", "-o", "json").splitlines()), 400)

    def newest_on_disk(self):
        run = self.service.state_of("lm")["run_id"]
        found = [int(path.parent.name.split("-")[1])
                 for path in (self.root / "storage/runs" / run / "checkpoints").glob("step-*/manifest.json")]
        return max(found)

    def test_ranks_that_train_meanwhile_go_on(self):
        before = self.service.steps("done")
        self.back_up_under_load()
        epoch = self.service.state_of("lm")["epoch"]
        newest = self.newest_on_disk()
        said, listen = self.lose_and_restore()
        self.assertRegex(said, r"run \w+ \(lm\): checkpoints found at steps \[\d+, \d+\], missing at steps \[\d+")
        self.service.await_checkpoints("lm", 2)
        self.assertGreater(self.service.steps("lm")[-1], newest)
        self.assertEqual(self.service.state_of("lm")["epoch"], epoch, "the ranks were not stopped")
        self.expect_everything_back(before, listen)

    def test_another_machine_goes_on_from_the_newest_checkpoint(self):
        before = self.service.steps("done")
        self.back_up_under_load()
        # The backup was made in the first epoch; the newest checkpoints are to be of the second.
        os.kill(self.service.trainer(), signal.SIGKILL)
        wait_for("the second epoch", lambda: self.service.state_of("lm")["epoch"], lambda epoch: epoch == 2)
        self.service.await_checkpoints("lm", 3)
        self.service.kill(self.service.agent)
        newest = self.newest_on_disk()
        _, listen = self.lose_and_restore()
        self.service.start_agent("another-agent")
        wait_for("the third epoch", lambda: self.service.state_of("lm")["epoch"], lambda epoch: epoch == 3)
        self.assertIn(f"from step {newest}", self.service.gpctl("events", "lm"))
        self.service.await_checkpoints("lm", 2)
        self.expect_everything_back(before, listen)

    def test_what_is_there_is_not_overwritten(self):
        self.service.act("--backup", self.root / "monday")
        self.assertIn("exists; name a directory that does not", self.service.act("--backup", self.root / "monday", check=False))
        self.assertIn("already holds a state", self.service.act("--restore", self.root / "monday", check=False))


if __name__ == "__main__":
    unittest.main()
