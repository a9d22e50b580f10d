"""The gateway of `gpctl up` samples from a run while it trains. Successive checkpoints answer requests with the same seed, and
no request fails."""

import collections
import json
import pathlib
import subprocess
import tempfile
import threading
import unittest

import serving
from waiting import wait_for  # importing serving adds the folder to sys.path

CHECKPOINTS_MIN = 3
RUN = """
apiVersion: gp/v1
name: live
model: {{n_layer: 4, n_head: 4, n_embd: 128, n_ctx: 128}}
data: {{text: ["{text}"], tokenizer: bytes}}
batch: {{micro_batch: 8, sequence: 128}}
optimizer: {{lr: 2e-3}}
budget: {{steps: 360}}
eval: {{every: 60, batches: 2}}
checkpoint: {{every: 60, keep_last: 10}}
seed: 7
"""
REQUEST = {"prompt": "The ", "max_tokens": 40, "temperature": 0.8, "seed": 11}


class Service:
    """The service that `gpctl up` starts, with its own state directory and home."""

    def __init__(self, directory):
        self.home = pathlib.Path(directory, "home")
        self.home.mkdir()
        self.state = pathlib.Path(directory, "state")
        answer = json.loads(self.gpctl("up", "--detach", "--gateway-listen", "127.0.0.1:0", "-o", "json"))
        if not answer["gateway"]:
            raise AssertionError(f"no gateway: {answer['gateway_problem']}")
        self.port = int(answer["gateway"].rsplit(":", 1)[1])

    request = serving.Gateway.request

    def gpctl(self, *words):
        done = subprocess.run([serving.PROGRAMS / "gpctl", *words, "--state-dir", self.state], check=False,
                              capture_output=True, text=True,
                              env={**serving.os.environ, "HOME": str(self.home)})
        if done.returncode != 0:
            raise AssertionError(f"gpctl {' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def down(self):
        self.gpctl("down", "--now")


class Sampling(threading.Thread):
    """Repeatedly samples from the run's alias with one seed."""

    def __init__(self, service):
        super().__init__()
        self.service = service
        self.done = threading.Event()
        self.texts = collections.defaultdict(set)  # by the checkpoint that answered
        self.problems = []

    def run(self):
        while not self.done.is_set():
            status, _, answer = self.service.request("POST", "/v1/completions", REQUEST | {"model": "live"})
            if status == 200:
                self.texts[answer["model"]].add(answer["choices"][0]["text"])
            else:
                self.problems.append((status, answer))


class LiveRun(unittest.TestCase):
    def setUp(self):
        scratch = self.enterContext(tempfile.TemporaryDirectory(prefix="gp-live-"))
        self.run_file = pathlib.Path(scratch, "live.yaml")
        self.run_file.write_text(RUN.format(text=serving.training_text(scratch)), encoding="utf-8")
        self.service = Service(scratch)
        self.addCleanup(self.service.down)

    def models(self):
        status, _, answer = self.service.request("GET", "/v1/models")
        self.assertEqual(status, 200, answer)
        return [model["id"] for model in answer["data"]]

    def test_new_checkpoints_answer_while_the_run_trains(self):
        training = threading.Thread(target=self.service.gpctl, args=("submit", self.run_file, "--wait"))
        training.start()
        self.addCleanup(training.join)
        wait_for("the first checkpoint", self.models, lambda names: "live" in names)
        readers = [Sampling(self.service) for _ in range(2)]
        for reader in readers:
            reader.start()
            self.addCleanup(reader.join)
            self.addCleanup(reader.done.set)
        training.join()
        last = "live@360"
        wait_for("the last checkpoint to answer", lambda: [list(reader.texts) for reader in readers],
                 lambda answered: all(last in names for names in answered))
        for reader in readers:
            reader.done.set()
            reader.join()
        texts = collections.defaultdict(set)
        for reader in readers:
            self.assertEqual(reader.problems, [])
            for model, found in reader.texts.items():
                texts[model] |= found
        print({model: len(found) for model, found in texts.items()})
        self.assertGreaterEqual(len(texts), CHECKPOINTS_MIN)
        self.assertTrue(all(len(found) == 1 for found in texts.values()), "one checkpoint, one seed, one text")
        self.assertGreaterEqual(len(set.union(*texts.values())), CHECKPOINTS_MIN, "they learned in between")
        # Requested by name, each checkpoint still gives the same answer.
        for model, found in texts.items():
            status, _, answer = self.service.request("POST", "/v1/completions", REQUEST | {"model": model})
            self.assertEqual((status, answer["model"]), (200, model))
            self.assertEqual({answer["choices"][0]["text"]}, found)


if __name__ == "__main__":
    unittest.main()
