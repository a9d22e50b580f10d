"""kill -9 of a sampler and of the gateway under load: only the requests of the killed process fail, with a proper error, and it
serves again after its restart."""

import http.client
import json
import os
import signal
import tempfile
import unittest

import serving
from waiting import wait_for  # importing serving adds the folder to sys.path

LOAD_THREADS = 6


class Crashes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="gp-crash-"))
        cls.models = {name: serving.train(cls.scratch, name, "bytes", steps=20) for name in ("first", "second")}

    def start_load(self, gateway):
        loads = [serving.Load(gateway, ("first", "second")[i % 2]) for i in range(LOAD_THREADS)]
        for load in loads:
            load.start()
            self.addCleanup(load.join)
            self.addCleanup(load.done.set)
        self.await_more(loads, 2)
        return loads

    def await_more(self, loads, more, ok=True):
        """Waits until each load has `more` further answers."""
        before = [load.count() for load in loads]
        wait_for(f"{more} answers of each", lambda: [sum(1 for answer in load.answers[begin:] if not ok or answer[0] == 200)
                                                     for load, begin in zip(loads, before)],
                 lambda counts: min(counts) >= more)

    def assert_same_text_for_same_seed(self, loads):
        texts = {}
        for load in loads:
            for status, _, answer in load.answers:
                if status == 200:
                    choice = answer["choices"][0]["text"]
                    texts.setdefault(load.model, set()).add(choice)
        for model, found in texts.items():
            self.assertLessEqual(len(found), 3, f"{model}: three seeds, three texts")

    def test_a_killed_sampler_fails_its_own_requests_and_is_started_again(self):
        with serving.Gateway(self.models) as gateway:
            victim = gateway.sampler_of("first")
            gateway.complete(model="second", prompt="a", max_tokens=1)
            loads = self.start_load(gateway)
            # Stop it first. Once the other loads have further answers, the stopped sampler certainly has pending requests.
            os.kill(victim, signal.SIGSTOP)
            self.await_more([load for load in loads if load.model == "second"], 3)
            os.kill(victim, signal.SIGKILL)
            self.await_more(loads, 3)
            for load in loads:
                load.done.set()
            for load in loads:
                load.join()
            self.assertNotIn(victim, gateway.samplers())
            for load in loads:
                failed = [answer for answer in load.answers if answer[0] != 200]
                if load.model == "second":
                    self.assertEqual(failed, [], "nobody else's request was hurt")
                for status, headers, answer in failed:
                    self.assertIn(status, (500, 502, 503), answer)
                    self.assertTrue(answer["error"]["message"])
                    if status == 503:
                        self.assertIn("Retry-After", headers)
            self.assertTrue(any(answer[0] != 200 for load in loads for answer in load.answers),
                            "some request was in the killed sampler")
            self.assert_same_text_for_same_seed(loads)

    def test_a_stream_whose_sampler_is_killed_ends_with_an_error(self):
        with serving.Gateway(self.models) as gateway:
            victim = gateway.sampler_of("first")
            connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
            self.addCleanup(connection.close)
            # Stop it before it can finish the text, and kill it while the client reads.
            os.kill(victim, signal.SIGSTOP)
            connection.request("POST", "/v1/completions",
                               json.dumps({"model": "first", "prompt": "The", "max_tokens": 100, "stream": True}),
                               {"Content-Type": "application/json"})
            wait_for("the request in the sampler", lambda: serving.in_progress(gateway))
            os.kill(victim, signal.SIGKILL)
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.status == 200:
                events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
                self.assertEqual(events[-1], "[DONE]")
                self.assertIn("error", json.loads(events[-2]))
            else:
                self.assertIn(answer.status, (500, 502, 503))
                self.assertIn("error", json.loads(text))

    def test_a_killed_gateway_leaves_no_sampler_and_serves_again(self):
        gateway = serving.Gateway(self.models)
        self.addCleanup(gateway.__exit__)
        samplers = [gateway.sampler_of(model) for model in self.models]
        loads = self.start_load(gateway)
        os.kill(gateway.process.pid, signal.SIGKILL)
        gateway.process.wait()
        for load in loads:
            load.done.set()
            load.join()
        wait_for("the samplers' end", lambda: [pid for pid in samplers if is_running(pid)], lambda running: not running)
        with serving.Gateway(self.models) as again:
            texts = {load.model: {answer[2]["choices"][0]["text"] for answer in load.answers if answer[0] == 200}
                     for load in loads}
            for model, before in texts.items():
                answer = again.complete(model=model, prompt="The run", max_tokens=60, temperature=0.8, seed=1)
                self.assertIn(answer["choices"][0]["text"], before)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


if __name__ == "__main__":
    unittest.main()
