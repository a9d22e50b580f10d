"""A receiver that fails half of the time gets every notification, although the coordinator is killed again and again: before
and after each durable step of a notification, and between its sending and its removal from the queue. No event is announced
under two keys. Every signature is checked by code that shares nothing with gp's."""

import collections
import hashlib
import hmac
import http.server
import itertools
import json
import os
import pathlib
import random
import secrets
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from waiting import SECONDS_MAX, wait_for

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])

RUN = """\
apiVersion: gp/v1
name: {name}
model: {{n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}}
data: {{text: [{text}], tokenizer: bytes, val_fraction: 0.1}}
resources: {{workers: {workers}, device: cpu}}
batch: {{micro_batch: 2, sequence: 16}}
budget: {{steps: 30}}
eval: {{every: 10, batches: 2}}
checkpoint: {{every: 10, keep_last: 20}}
"""

TARGETS = """\
apiVersion: gp/v1
waiting_longer_than: 1s
targets:
  - name: hook
    url: http://127.0.0.1:{port}/hook
    secret_file: hook.secret
    allow_private_addresses: true
  - name: refused
    url: https://127.0.0.1:{port}/refused
    secret_file: hook.secret
    events: [finished]
  - name: chat
    kind: slack
    url_file: chat.url
    events: [finished]
    runs: named
    allow_private_addresses: true
"""

# Where the coordinator dies, at which passage. Then it is killed a few times more, at no place in particular.
DEATHS = ["notifications.before_queue:kill@2", "notifications.after_queue:kill@2", "notifications.before_send:kill@2",
          "notifications.after_send:kill@2", "store.after_commit:kill@8"]
KILLS = 4
KILL_AFTER_SECONDS_MAX = 1.5


class Receiver:
    """Accepts half of the requests; answers the others with an error, or closes the connection."""

    def __init__(self, secret):
        self.secret = secret
        self.accepted = collections.defaultdict(list)  # bodies by path
        self.problems = []
        self.failed = 0
        self.lock = threading.Lock()
        # In turn, so that the pauses between attempts, which grow with each failure in a row, stay short.
        fates = collections.defaultdict(lambda: itertools.cycle(["error", "accept", "close", "accept"]))  # by path
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.lock:
                    if self.path == "/hook":
                        receiver.check(self.headers, body)
                    fate = next(fates[self.path])
                    if fate == "accept":
                        receiver.accepted[self.path].append(json.loads(body))
                    else:
                        receiver.failed += 1
                if fate != "close":
                    self.send_response(200 if fate == "accept" else 500)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def check(self, headers, body):
        signed = headers["X-Gp-Timestamp"].encode() + b"." + body
        expected = "v1=" + hmac.new(self.secret.encode(), signed, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, headers["X-Gp-Signature"]):
            self.problems.append(f"signature {headers['X-Gp-Signature']}, expected {expected}")
        if json.loads(body)["key"] != headers["Idempotency-Key"]:
            self.problems.append(f"key {headers['Idempotency-Key']} of {body}")

    def events(self):
        """(run, event) of each accepted notification of the hook, with the keys that it came under."""
        keys = collections.defaultdict(set)
        with self.lock:
            for body in self.accepted["/hook"]:
                if "run" in body:
                    keys[body["run"]["name"], body["event"], body["run"]["step"]].add(body["key"])
        return keys


class Service:
    """A coordinator, which dies where it is told to, and an agent."""

    def __init__(self, root, port, secret):
        self.root = root
        self.socket = root / "coordinator.sock"
        (root / "home").mkdir()
        (root / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 400)
        (root / "targets.yaml").write_text(TARGETS.format(port=port))
        self.write_secret("hook.secret", secret)
        self.write_secret("chat.url", f"http://127.0.0.1:{port}/chat")
        self.coordinator = None
        self.deaths = 0

    def write_secret(self, name, text):
        with open(self.root / name, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(text + "\n")

    def environment(self, **more):
        return {**os.environ, "HOME": str(self.root / "home"), **more}

    def spawn(self, program, *arguments, **environment):
        with open(self.root / f"{program}.log", "a", encoding="utf-8") as log:
            return subprocess.Popen([PROGRAMS / program, *arguments, "--metrics-listen", "127.0.0.1:0"], stdout=log,
                                    stderr=log, env=self.environment(**environment))

    def start_coordinator(self, failpoint=""):
        address = self.root / "address.json"
        address.unlink(missing_ok=True)
        self.coordinator = self.spawn("gp-coordinator", "--state-dir", self.root / "state", "--storage-root",
                                      self.root / "storage", "--socket", self.socket, "--address-file", address,
                                      GP_COORDINATOR_NOTIFICATIONS_TARGETS_FILE=str(self.root / "targets.yaml"),
                                      GP_FAILPOINT=failpoint)
        wait_for("the coordinator serves or dies", lambda: address.exists() or self.coordinator.poll() is not None)

    def start_agent(self):
        return self.spawn("gp-worker", "--coordinator", f"unix:{self.socket}", "--state-dir", self.root / "agent",
                          "--storage-root", self.root / "storage", "--slots", "1")

    def await_death(self):
        wait_for("the coordinator dies", self.coordinator.poll, lambda status: status is not None)
        if self.coordinator.returncode != -signal.SIGKILL:
            raise AssertionError(f"the coordinator ended with {self.coordinator.returncode}: {self.log()}")
        self.deaths += 1

    def gpctl(self, *arguments, check=True):
        command = [PROGRAMS / "gpctl", *arguments, "--server", f"unix:{self.socket}", "--timeout", "60s"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS_MAX,
                              env=self.environment())
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}{self.log()}")
        return done.stdout + done.stderr

    def submit(self, name, workers=1, notify="[]"):
        path = self.root / f"{name}.yaml"
        path.write_text(RUN.format(name=name, text=self.root / "text.txt", workers=workers) + f"notify: {notify}\n")
        return self.gpctl("submit", path, "-d", "--request-id", f"submit-{name}", check=False)

    def targets(self):
        listed = json.loads(self.gpctl("notify", "list", "-o", "json"))
        return {target["name"]: target for target in listed["items"]}

    def run_events(self, name):
        return [json.loads(line) for line in self.gpctl("events", name, "-o", "json").splitlines()]

    def log(self):
        return (self.root / "gp-coordinator.log").read_text()


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS_MAX)


class Notifications(unittest.TestCase):
    def setUp(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gp-notifications-")))
        self.secret = secrets.token_hex(32)
        self.receiver = Receiver(self.secret)
        self.addCleanup(self.receiver.server.shutdown)
        self.service = Service(root, self.receiver.port, self.secret)
        self.addCleanup(lambda: end(self.service.coordinator))

    def test_every_notification_arrives_across_deaths_of_the_coordinator(self):
        service = self.service
        names = []
        agent = None
        for number, death in enumerate(DEATHS):
            service.start_coordinator(death)
            if agent is None:
                agent = service.start_agent()
                self.addCleanup(lambda: end(agent))
            names.append(f"run-{number}")
            threading.Thread(target=service.submit, args=(names[-1], 1, self.notify_of(names[-1])), daemon=True).start()
            service.await_death()
        for _ in range(KILLS):
            service.start_coordinator()
            time.sleep(random.uniform(0, KILL_AFTER_SECONDS_MAX))
            service.coordinator.kill()
            service.await_death()
        service.start_coordinator()
        for name in names:
            # Again, with the same request id: it may have died before it answered.
            service.submit(name, notify=self.notify_of(name))
            service.gpctl("wait", name)
        service.submit("too-large", workers=2)  # there is one slot

        expected = {(name, event) for name, event in itertools.product(names, ["finished", "new_best"])}
        expected.add(("too-large", "waiting"))
        arrived = wait_for("every notification arrives", lambda: {(name, event) for name, event, _ in self.receiver.events()},
                           expected.issubset)
        self.assertEqual(arrived - expected, {(name, "waiting") for name, event in arrived - expected})
        wait_for("the queues are empty", lambda: [service.targets()[name]["queued"] for name in ("hook", "chat")],
                 lambda queued: queued == [0, 0])

        self.assertEqual(self.receiver.problems, [])
        self.assertGreater(self.receiver.failed, 5)
        self.assertEqual(service.deaths, len(DEATHS) + KILLS)
        keys = self.receiver.events()
        for (name, event, step), found in keys.items():
            if event != "waiting":
                self.assertEqual(len(found), 1, f"{event} of {name} at step {step} came under several keys: {found}")
        for name in names:
            self.check_best(name, keys)
        named = {name for name in names if self.notify_of(name) == "[chat]"}
        self.assertEqual({text["text"].split()[2] for text in self.receiver.accepted["/chat"]}, named, "runs: named")
        self.assertRegex(service.submit("lost", notify="[chatt]"),
                         r"lost.yaml:\d+:10: the coordinator has no notification target 'chatt' .*: chat, hook, refused|"
                         r"lost.yaml:\d+:10: the coordinator has no notification target 'chatt' .*: hook, refused, chat")
        self.check_refused(names)

    @staticmethod
    def notify_of(name):
        return "[chat]" if name in ("run-1", "run-3") else "[]"

    def check_best(self, name, keys):
        """Each checkpoint whose loss is below all earlier ones was announced, and no other."""
        best, steps = float("inf"), set()
        for item in sorted(json.loads(self.service.gpctl("ckpt", "list", name, "-o", "json"))["items"],
                           key=lambda item: item["step"]):
            if item.get("val_loss", float("inf")) < best:
                best = item["val_loss"]
                steps.add(item["step"])
        self.assertEqual({step for run, event, step in keys if (run, event) == (name, "new_best")}, steps)

    def check_refused(self, names):
        """A target on a private address that is not allowed gets nothing; the list says why, and nothing shows a secret."""
        refused = self.service.targets()["refused"]
        self.assertEqual(refused["queued"], len(names))
        self.assertIn("127.0.0.1 is a loopback address", refused["last_error"])
        self.assertEqual(self.receiver.accepted["/refused"], [])
        self.assertIn("not sent: 127.0.0.1: the address 127.0.0.1 is a loopback address",
                      self.service.gpctl("notify", "test", "refused", check=False))
        wait_for("a test is accepted", lambda: self.service.gpctl("notify", "test", "hook", check=False),
                 lambda said: "hook: the receiver accepted the test (200)" in said)
        shown = self.service.log() + self.service.gpctl("notify", "list") + self.service.gpctl("notify", "list", "-o", "json")
        for hidden in (self.secret, "/chat", "/hook"):
            self.assertNotIn(hidden, shown)


if __name__ == "__main__":
    unittest.main()
