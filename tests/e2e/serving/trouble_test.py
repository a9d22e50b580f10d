"""Problems around the gateway: a full disk, checkpoints that disappear or are damaged while they are served, many idle streams,
and a busy machine. Affected clients get an error with a message; other clients notice nothing."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

import serving
from waiting import wait_for  # importing serving adds the folder to sys.path

STREAMS = 500
# Limit on the memory that the gateway needs per stream: a connection and its buffers, with a margin.
STREAM_BYTES_MAX = 48 << 10
# Limit on the memory growth while 500 streams receive nothing but comments.
FLAT_BYTES_MAX = 2 << 20
BUSY_STREAMS = 32
QUICK_PINGS = "requests: {ping_period: 200ms}\n"
NO_SCANS = "models: {scan_period: 1h}\n"


def start_gateway(models, scratch, settings):
    """Starts a gateway with a settings file that contains this text."""
    path = pathlib.Path(scratch, "gateway.yaml")
    path.write_text(settings, encoding="utf-8")
    return serving.Gateway(models, "--config", path)


def fill_disk(pid):
    """Makes every later write of this process to a file fail."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))


def resident_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


class Trouble(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-trouble-"))
        cls.trained = serving.train(cls.scratch, "trained", "bytes", steps=60, every=20)
        cls.other = serving.train(cls.scratch, "other", "bytes", steps=20)

    def setUp(self):
        self.own = self.enterContext(tempfile.TemporaryDirectory(prefix="gp-trouble-"))

    def start_run(self):
        """A copy of the trained run without its last checkpoint, and a function that adds that checkpoint."""
        run = pathlib.Path(self.own, "run")
        shutil.copytree(self.trained, run)
        last = serving.newest(run)
        aside = pathlib.Path(self.own, last.name)
        last.rename(aside)
        return run, lambda: aside.rename(last)

    def start_load(self, gateway, models):
        loads = [serving.Load(gateway, model) for model in models]
        for load in loads:
            load.start()
            self.addCleanup(load.join)
            self.addCleanup(load.done.set)
        self.await_answer(loads, lambda answer: answer[0] == 200)
        return loads

    def await_answer(self, loads, is_it):
        """Waits until each load has a further answer for which `is_it` is true."""
        before = [load.count() for load in loads]
        wait_for("an answer of that kind for each", lambda: [load.answers[begin:] for load, begin in zip(loads, before)],
                 lambda added: all(any(map(is_it, answers)) for answers in added))

    def end(self, loads):
        for load in loads:
            load.done.set()
            load.join()

    def assert_errors_are_proper(self, load, statuses):
        for status, headers, answer in load.answers:
            if status == 200:
                continue
            self.assertIn(status, statuses, answer)
            self.assertTrue(answer["error"]["message"], answer)
            if status == 503:
                self.assertIn("Retry-After", headers)

    def test_a_disk_that_fills_up_changes_no_answer(self):
        models = {"trained": self.trained, "other": self.other}
        with serving.Gateway(models) as gateway:
            gateway.complete(model="trained", prompt="a", max_tokens=4)
            fill_disk(gateway.process.pid)
            logged = len(gateway.output())
            for model in ("trained", "other"):
                gateway.complete(model=model, prompt="a", max_tokens=4)
            self.assertEqual(gateway.request("POST", "/v1/completions", {"model": "nobody"})[0], 404)
            self.assertIsNone(gateway.process.poll())
            self.assertEqual(len(gateway.output()), logged, "the disk was full")

    def test_a_log_on_a_full_disk_changes_no_answer(self):
        with serving.Gateway({"other": self.other}, log_path="/dev/full") as gateway:
            for _ in range(3):
                gateway.complete(model="other", prompt="a", max_tokens=4)
            self.assertIsNone(gateway.process.poll())

    def test_a_disk_that_is_full_at_the_start_is_told(self):
        done = subprocess.run([serving.PROGRAMS / "gp-gateway", "--listen", "127.0.0.1:0", "--metrics-listen",
                               "127.0.0.1:0", "--address-file", pathlib.Path(self.own, "address.json")],
                              preexec_fn=lambda: fill_disk(0), check=False, capture_output=True, text=True, timeout=60)
        self.assertGreater(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "--address-file: .*address.json.*: File too large")
        self.assertEqual(list(pathlib.Path(self.own).iterdir()), [])

    def test_a_checkpoint_that_is_deleted_is_told_and_the_next_one_answers(self):
        run, add_last = self.start_run()
        with serving.Gateway({"run": run, "other": self.other}) as gateway:
            loads = self.start_load(gateway, ["run", "other", "run", "other"])
            mine, others = loads[::2], loads[1::2]
            for checkpoint in serving.checkpoints_of(run).values():
                shutil.rmtree(checkpoint)
            self.await_answer(mine, lambda answer: answer[0] != 200)
            status, _, answer = gateway.request("POST", "/v1/completions", {"model": "run", "prompt": "a"})
            self.assertEqual((status, answer["error"]["code"]), (404, "model_not_found"))
            add_last()
            self.await_answer(mine, lambda answer: answer[0] == 200 and answer[2]["model"] == "run@60")
            self.end(loads)
            for load in mine:
                self.assert_errors_are_proper(load, (404, 503))
            for load in others:
                self.assertEqual({answer[0] for answer in load.answers}, {200})

    def test_a_checkpoint_that_is_gone_when_it_is_loaded_is_told(self):
        run, _ = self.start_run()
        with start_gateway({"run": run, "other": self.other}, self.own, NO_SCANS) as gateway:
            gateway.complete(model="run", prompt="a", max_tokens=1)
            for checkpoint in serving.checkpoints_of(run).values():
                shutil.rmtree(checkpoint)
            # The sampler still has the weights in memory.
            gateway.complete(model="run", prompt="a", max_tokens=4)
            for sampler in gateway.samplers():
                os.kill(sampler, signal.SIGKILL)
            wait_for("the samplers' end", gateway.samplers, lambda running: not running)
            status, headers, answer = gateway.request("POST", "/v1/completions", {"model": "run", "prompt": "a"})
            self.assertEqual(status, 503, answer)
            self.assertIn("there is no such directory", answer["error"]["message"])
            self.assertIn("Retry-After", headers)
            gateway.complete(model="other", prompt="a", max_tokens=4)

    def test_a_checkpoint_that_is_damaged_is_told_and_the_next_one_answers(self):
        run, add_last = self.start_run()
        weights = serving.newest(run) / "model.safetensors"
        with serving.Gateway({"run": run, "other": self.other}) as gateway:
            victim = gateway.sampler_of("run")
            loads = self.start_load(gateway, ["run", "other", "run", "other"])
            mine, others = loads[::2], loads[1::2]
            with open(weights, "r+b") as file:
                file.truncate(weights.stat().st_size // 2)
            # Requests still succeed with the weights in memory; only loading the file again reports the damage.
            self.await_answer(mine, lambda answer: answer[0] == 200)
            os.kill(victim, signal.SIGKILL)
            self.await_answer(mine, lambda answer: answer[0] == 500)
            told = [answer[2]["error"]["message"] for load in mine for answer in load.answers if answer[0] == 500]
            self.assertIn("model.safetensors", told[-1])
            add_last()
            self.await_answer(mine, lambda answer: answer[0] == 200 and answer[2]["model"] == "run@60")
            self.end(loads)
            for load in mine:
                self.assert_errors_are_proper(load, (500, 503))
            for load in others:
                self.assertEqual({answer[0] for answer in load.answers}, {200})

    def test_a_damaged_manifest_leaves_the_checkpoint_before_it(self):
        run, _ = self.start_run()
        with serving.Gateway({"run": run}) as gateway:
            self.assertEqual(gateway.complete(model="run", prompt="a", max_tokens=1)["model"], "run@40")
            (serving.newest(run) / "manifest.json").write_text("{", encoding="utf-8")
            loads = self.start_load(gateway, ["run"])
            self.await_answer(loads, lambda answer: answer[0] == 200 and answer[2]["model"] == "run@20")
            self.end(loads)
            self.assertEqual({answer[0] for answer in loads[0].answers}, {200})

    def test_idle_event_streams_take_little_memory_and_no_more_with_time(self):
        with start_gateway({"other": self.other}, self.own, QUICK_PINGS) as gateway:
            gateway.complete(model="other", prompt="a", max_tokens=4)
            pid = gateway.process.pid
            before = resident_bytes(pid)
            with contextlib.ExitStack() as stack:
                streams = [stack.enter_context(IdleStream(gateway.port)) for _ in range(STREAMS)]
                for stream in streams:
                    stream.await_text(b"data: {")
                opened_bytes = resident_bytes(pid)
                self.assertLess((opened_bytes - before) / STREAMS, STREAM_BYTES_MAX)
                for _ in range(5):
                    for stream in streams:
                        stream.await_text(b": ping")
                self.assertLess(resident_bytes(pid) - opened_bytes, FLAT_BYTES_MAX)
                gateway.complete(model="other", prompt="a", max_tokens=4)
                print(f"{(opened_bytes - before) / STREAMS / 1024:.1f} KiB for each of {STREAMS} streams, then "
                      f"{(resident_bytes(pid) - opened_bytes) / 1024:.0f} KiB more")
            wait_for("their end", lambda: gauge(gateway, "gp_gateway_connections"), lambda count: count <= 1)

    def test_a_gateway_without_a_checkpoint_to_serve_does_not_start(self):
        empty, damaged = pathlib.Path(self.own, "empty"), pathlib.Path(self.own, "damaged")
        empty.mkdir()
        damaged.mkdir()
        pathlib.Path(damaged, "manifest.json").write_text("{", encoding="utf-8")
        for directory, code in ((empty, 3), (empty / "nothing", 3), (damaged, 9)):
            for program in (["gp-gateway", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--model",
                             f"name={directory}"], ["gpctl", "serve", str(directory)]):
                done = subprocess.run([serving.PROGRAMS / program[0], *program[1:]], check=False, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(str(directory), done.stderr)
                print(done.stderr, end="")

    def test_a_stop_does_not_wait_for_pages_that_are_open(self):
        with start_gateway({"other": self.other}, self.own, "server: {stop_grace: 1h}\n") as gateway:
            with IdleStream(gateway.port) as stream:
                stream.await_text(b"data: {")
                gateway.process.terminate()
                self.assertEqual(gateway.process.wait(60), 0)

    def test_a_gateway_with_busy_streams_says_that_it_lives(self):
        with serving.Gateway({"trained": self.trained}, "--streams", str(BUSY_STREAMS)) as gateway:
            done = threading.Event()
            streams = [threading.Thread(target=keep_reading, args=(gateway, done)) for _ in range(BUSY_STREAMS)]
            for stream in streams:
                stream.start()
            try:
                wait_for("busy streams", lambda: serving.in_progress(gateway), lambda count: count >= BUSY_STREAMS)
                for _ in range(50):
                    self.assertEqual(gateway.request("GET", "/livez")[0], 200)
            finally:
                done.set()
                for stream in streams:
                    stream.join()


class IdleStream:
    """A client that reads /api/v1/events."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def await_text(self, text):
        """Reads until the text arrives and discards everything up to its end."""
        while text not in self.received:
            more = self.socket.recv(1 << 16)
            if not more:
                raise AssertionError("the stream was cut")
            self.received += more
        self.received = self.received.split(text, 1)[1]


def keep_reading(gateway, done):
    seed = 0
    while not done.is_set():
        seed += 1
        for _ in gateway.stream(model="trained", prompt="The", max_tokens=180, seed=seed, ignore_eos=True):
            pass


def gauge(gateway, name):
    text = gateway.request("GET", "/metrics")[2]
    return float(next(line for line in text.splitlines() if line.startswith(name + " ")).rsplit(" ", 1)[1])


if __name__ == "__main__":
    unittest.main()
