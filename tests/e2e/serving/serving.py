"""Shared by the gateway's tests: small trained models, the gateway as a process, and the same weights in transformers."""

import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import wait_for

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
CLIENTS = SOURCE / ".deps/clients/bin/python"

TRAINING = """
apiVersion: gp/v1
name: {name}
model: {{n_layer: 2, n_head: 2, n_embd: 64, n_ctx: 192, bias: {bias}, pad_vocab_to: 64}}
data: {{text: ["{text}"], tokenizer: {tokenizer}}}
resources: {{threads: 2}}
batch: {{micro_batch: 8, sequence: 64}}
optimizer: {{lr: 3e-3}}
budget: {{steps: {steps}}}
eval: {{every: {steps}, batches: 2}}
checkpoint: {{every: {every}, keep_last: 10}}
seed: 7
"""


def skip(reason):
    print(reason)
    sys.exit(77)


def use_clients_python():
    """Restarts this script in the Python environment with the clients; skips the test if there is none."""
    if os.environ.get("GP_CLIENTS_PYTHON"):
        return
    if not CLIENTS.exists():
        skip("the clients are not installed: scripts/bootstrap --clients")
    # Tests need no network, and libraries must not look for updates.
    environment = os.environ | {"GP_CLIENTS_PYTHON": "1", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
                                "OMP_WAIT_POLICY": "passive", "TOKENIZERS_PARALLELISM": "false",
                                "NO_PROXY": "127.0.0.1"}
    os.execve(CLIENTS, [str(CLIENTS), *sys.argv], environment)


def training_text(directory):
    """A text that is always available: the project's own documents."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((SOURCE / "docs").rglob("*.md")))
    path = pathlib.Path(directory, "text.txt")
    path.write_text(text, encoding="utf-8")
    return path


def train(directory, name, tokenizer, steps=60, every=None, bias=True):
    """Trains a model and returns the run's directory, with a checkpoint `every` so many steps."""
    run_file = pathlib.Path(directory, name + ".yaml")
    run_file.write_text(TRAINING.format(name=name, tokenizer=tokenizer, steps=steps, every=every or steps,
                                        text=training_text(directory), bias="true" if bias else "false"),
                        encoding="utf-8")
    run = pathlib.Path(directory, name)
    done = subprocess.run([PROGRAMS / "gp-trainer", "--spec", run_file, "--out", run], check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"gp-trainer: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return run


def checkpoints_of(run):
    """{step: directory} of the run's checkpoints, in ascending order."""
    found = {int(path.parent.name.split("-")[1]): path.parent
             for path in pathlib.Path(run, "checkpoints").glob("step-*/manifest.json")}
    return dict(sorted(found.items()))


def newest(run):
    return list(checkpoints_of(run).values())[-1]


def one_shot(checkpoint, prompt, tokens, **flags):
    """The text that `gp-sampler` writes after the prompt. The value True means a flag without a value."""
    words = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in flags.items()]
    done = subprocess.run([PROGRAMS / "gp-sampler", "--checkpoint", checkpoint, "--prompt", prompt,
                           "--max-tokens", str(tokens), *words], check=True, capture_output=True)
    return done.stdout


def transformers_model(checkpoint):
    """A GPT2LMHeadModel with the checkpoint's weights, in fp32."""
    import transformers
    sys.path.insert(0, str(SOURCE / "tests/bench/peers"))
    import llama_model
    with tempfile.TemporaryDirectory(prefix="gp-hf-") as directory:
        llama_model.write_hugging_face(pathlib.Path(checkpoint), pathlib.Path(directory))
        return transformers.GPT2LMHeadModel.from_pretrained(directory).eval()


class Gateway:
    """A gp-gateway on its own port; `models` is {name: directory}."""

    def __init__(self, models, *flags, log_path=None):
        self.scratch = tempfile.TemporaryDirectory(prefix="gp-gateway-")
        self.log = open(log_path or pathlib.Path(self.scratch.name, "log"), "w+b")
        self.address_file = pathlib.Path(self.scratch.name, "address.json")
        command = [str(PROGRAMS / "gp-gateway"), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
                   "--address-file", str(self.address_file)]
        for name, directory in models.items():
            command += ["--model", f"{name}={directory}"]
        self.process = subprocess.Popen(command + list(flags), stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL)
        self.port = self._await_port()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.scratch.cleanup()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _await_port(self):
        def port():
            if self.process.poll() is not None:
                sys.exit(f"gp-gateway ended with {self.process.returncode}:\n{self.output()}")
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                return int(json.loads(self.address_file.read_text())["address"].rsplit(":", 1)[1])
            return None
        return wait_for("gp-gateway's address", port)

    def output(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def request(self, method, path, body=None, timeout=120):
        """(status, headers, JSON or text)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = answer.headers.get("Content-Type", "").startswith("application/json")
            return answer.status, dict(answer.headers), json.loads(text) if is_json else text
        finally:
            connection.close()

    def complete(self, **body):
        """The answer to a completion request; it must succeed."""
        status, _, answer = self.request("POST", "/v1/completions", body)
        if status != 200:
            raise AssertionError(f"{status}: {answer}")
        return answer

    def stream(self, **body):
        """Yields the events of a streamed completion as they arrive."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/v1/completions", json.dumps(body | {"stream": True}),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise AssertionError(f"{answer.status}: {answer.read()}")
            for line in answer:
                if line.startswith(b"data: ") and line != b"data: [DONE]\n":
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def samplers(self):
        """The pids of the gateway's samplers."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task")
        found = []
        for task in children.iterdir():
            found += [int(pid) for pid in (task / "children").read_text().split()]
        return found

    def sampler_of(self, model):
        """The pid of the sampler that the first request for this model starts."""
        before = set(self.samplers())
        self.complete(model=model, prompt="a", max_tokens=1)
        added = set(self.samplers()) - before
        if len(added) != 1:
            raise AssertionError(f"one sampler for each model, not {added}")
        return added.pop()


class Load(threading.Thread):
    """Repeatedly sends requests for one model and records each answer: the status, or how the connection ended."""

    def __init__(self, gateway, model):
        super().__init__()
        self.gateway, self.model = gateway, model
        self.done = threading.Event()
        self.answers = []

    def run(self):
        seed = 0
        while not self.done.is_set():
            seed += 1
            body = {"model": self.model, "prompt": "The run", "max_tokens": 60, "temperature": 0.8, "seed": seed % 3}
            try:
                status, headers, answer = self.gateway.request("POST", "/v1/completions", body)
                self.answers.append((status, headers, answer))
            except (OSError, http.client.HTTPException) as error:
                self.answers.append((None, {}, repr(error)))

    def count(self):
        return len(self.answers)


def in_progress(gateway):
    """The number of running requests according to /metrics."""
    text = gateway.request("GET", "/metrics")[2]
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith("gp_gateway_requests_in_progress{"))
