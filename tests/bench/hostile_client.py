#!/usr/bin/env python3
"""A hostile client of gp-gateway beside honest ones: does an honest stream end, does /livez slow down, does memory grow?

    tests/bench/hostile_client.py --bin build/release/bin [--seconds 600]      exit 1 when a limit is not held

It starts a gateway of its own on a free port, with API keys and a model of one training step. The hostile client has a key
and sends what is largest in every field, bodies and headers that do not end, requests whose answers it does not read,
requests that it takes back, and the longest lists; it has at most 2000 connections. Honest clients stream texts one after another.
"""

import argparse
import contextlib
import gzip
import hashlib
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

LIVEZ_P99_MS_MAX = 50
GATEWAY_MIB_MAX = 300
HALF_REQUESTS = 2000
HONEST_STREAMS = 4
HOSTILE_WORKERS = 8

RUN_FILE = """
apiVersion: gp/v1
name: slow
model: {{n_layer: 8, n_head: 8, n_embd: 512, n_ctx: 1024}}
data: {{text: ["{text}"], tokenizer: bytes}}
batch: {{micro_batch: 1, sequence: 16}}
budget: {{steps: 1}}
"""


def make_model(programs, folder):
    text = folder / "text.txt"
    text.write_text("The quick brown fox jumps over the lazy dog.\n" * 100, encoding="utf-8")
    spec = folder / "slow.yaml"
    spec.write_text(RUN_FILE.format(text=text), encoding="utf-8")
    subprocess.run([programs / "gp-trainer", "--spec", spec, "--out", folder / "slow"], check=True, capture_output=True)
    return folder / "slow"


@contextlib.contextmanager
def gateway(programs, folder):
    """Starts a gateway and yields (port, process id)."""
    keys = folder / "keys"
    keys.write_text("".join(f"{hashlib.sha256(f'{who}-key'.encode()).hexdigest()} {who}\n" for who in ("alice", "bob")))
    address = folder / "address"
    with open(folder / "gateway.log", "wb") as log:
        process = subprocess.Popen(
            [programs / "gp-gateway", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--threads", "1",
             "--api-key-file", keys, "--model", f"slow={make_model(programs, folder)}", "--address-file", address],
            stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while not address.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("gp-gateway did not start: " + (folder / "gateway.log").read_text(errors="replace")[-500:])
            time.sleep(0.05)
        yield int(json.loads(address.read_text())["address"].rsplit(":", 1)[1]), process.pid
    finally:
        process.terminate()
        process.wait(60)


def connection(port, timeout):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)


def post(port, who, target, body, headers=None, timeout=120):
    client = connection(port, timeout)
    client.request("POST", target, body, {"Authorization": f"Bearer {who}-key"} | (headers or {}))
    response = client.getresponse()
    return response.status, response.read()


# ---- the honest clients


def honest(port, until, results):
    """Streams texts. Puts the number of streams, of broken streams, and the first problem into `results`."""
    counts = {"streams": 0, "broken": 0, "first": ""}
    lock = threading.Lock()

    def stream():
        body = json.dumps({"model": "slow", "prompt": "The ", "max_tokens": 60, "ignore_eos": True, "stream": True})
        while time.monotonic() < until:
            try:
                status, answer = post(port, "alice", "/v1/completions", body)
                problem = "" if status == 200 and answer.endswith(b"data: [DONE]\n\n") and b'"error"' not in answer \
                    else f"{status} {answer[-200:]!r}"
            except (OSError, http.client.HTTPException) as error:
                problem = repr(error)
            with lock:
                counts["streams"] += 1
                counts["broken"] += bool(problem)
                counts["first"] = counts["first"] or problem

    threads = [threading.Thread(target=stream) for _ in range(HONEST_STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(counts)


def probe(port, until, results):
    """Puts the times of /livez in ms into `results`, each on a new connection; a failure counts as one minute."""
    times = []
    while time.monotonic() < until:
        begun = time.monotonic()
        try:
            client = connection(port, 60)
            client.request("GET", "/livez")
            ok = client.getresponse().read() == b'{"status":"ok"}'
            client.close()
        except (OSError, http.client.HTTPException):
            ok = False
        times.append(1000 * (time.monotonic() - begun) if ok else 60000)
        time.sleep(0.02)
    results.put(times)


# ---- the hostile client


def large_bodies():
    """Yields (target, body, headers) of requests that are as large as possible in one field each."""
    megabytes = 10_000_000
    completion = lambda **fields: json.dumps({"model": "slow", "prompt": "x", "max_tokens": 5} | fields).encode()
    many = b'{"model":"slow","prompt":"x",' + b",".join(b'"k%d":1' % i for i in range(600_000)) + b"}"
    yield "/v1/completions", completion(stop=["z" * megabytes], n=128), {}
    yield "/v1/completions", completion(stop=["z" * 1024] * 4, n=128, logprobs=20, max_tokens=900), {}
    yield "/v1/completions", completion(prompt="x" * megabytes), {}
    yield "/v1/completions", completion(prompt=[[1] * 1000] * 128, max_tokens=20, echo=True, logprobs=20), {}
    yield "/v1/completions", completion(model="m" * megabytes), {}
    yield "/v1/completions", completion(logit_bias={str(i): 1 for i in range(256)}, n=128, max_tokens=1), {}
    yield "/v1/completions", completion(logit_bias={str(i): 1 for i in range(500_000)}, n=128), {}
    yield "/v1/completions", many, {}
    yield "/v1/completions", b'{"x":[' + b"[]," * 3_000_000 + b"1]}", {}
    yield "/v1/completions", b"[" * megabytes, {}
    yield "/v1/completions", gzip.compress(completion(prompt="x" * 100_000_000)), {"Content-Encoding": "gzip"}
    yield "/detokenize", b'{"model":"slow","tokens":[' + b"1," * 4_900_000 + b"1]}", {}
    yield "/detokenize", b'{"model":"slow","tokens":[' + b"1," * 1_000_000 + b"1]}", {}
    yield "/tokenize", json.dumps({"model": "slow", "prompt": "x" * megabytes}).encode(), {}
    yield "/tokenize", json.dumps({"model": "slow", "prompt": "x" * 1_000_000, "with_pieces": True}).encode(), {}


def send_large(port, until, bodies, seed):
    choose = random.Random(seed)
    while time.monotonic() < until:
        target, body, headers = choose.choice(bodies)
        with contextlib.suppress(OSError, http.client.HTTPException):
            post(port, "bob", target, body, headers, timeout=20)


def take_back(port, until):
    """Sends requests and never reads the answers; closes the oldest connection when more than 50 are open."""
    body = json.dumps({"model": "slow", "prompt": "x", "n": 128, "max_tokens": 900, "logprobs": 20, "stream": True})
    unread = []
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            client = connection(port, 5)
            client.request("POST", "/v1/completions", body, {"Authorization": "Bearer bob-key"})
            unread.append(client)
            if len(unread) > 50:
                unread.pop(0).close()
        time.sleep(0.05)


def ask_for_lists(port, until):
    """Requests the longest lists, one after another, and event streams that it never reads."""
    targets = ("/v1/models", "/api/v1/runs?limit=1000", "/api/v1/runs", "/api/v1/workers", "/api/v1/events", "/openapi.json")
    unread = []
    while time.monotonic() < until:
        for target in targets:
            with contextlib.suppress(OSError, http.client.HTTPException):
                client = connection(port, 20)
                client.request("GET", target, headers={"Authorization": "Bearer bob-key"})
                if target.endswith("events"):
                    unread.append(client)
                else:
                    client.getresponse().read()
                    client.close()
        while len(unread) > 400:
            unread.pop(0).close()


def send_halves(port, until):
    """Sends headers and bodies that do not end, at most HALF_REQUESTS at a time."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    halves = (b"GET /", b"", b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bob-key\r\nContent-Length: 9\r\n\r\n{",
              b"\x16\x03\x01", b"GET / HTTP/1.1\r\nHost: x\r\nx: " + b"y" * 8000)
    held = []
    while time.monotonic() < until:
        for _ in range(100):
            with contextlib.suppress(OSError):
                one = socket.create_connection(("127.0.0.1", port), timeout=5)
                one.send(random.choice(halves))
                held.append(one)
        while len(held) > HALF_REQUESTS:
            held.pop(0).close()
        time.sleep(0.2)


def hostile(port, until):
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    bodies = list(large_bodies())
    workers = [threading.Thread(target=send_large, args=(port, until, bodies, seed)) for seed in range(HOSTILE_WORKERS)]
    workers += [threading.Thread(target=one, args=(port, until)) for one in (take_back, ask_for_lists, send_halves)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


# ---- the measurement


def status_kib(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def measure(port, pid, seconds):
    post(port, "alice", "/v1/completions", json.dumps({"model": "slow", "prompt": "a", "max_tokens": 1}))
    samplers = children(pid)
    until = time.monotonic() + seconds
    streams, times = multiprocessing.Queue(), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=hostile, args=(port, until)),
                 multiprocessing.Process(target=honest, args=(port, until, streams)),
                 multiprocessing.Process(target=probe, args=(port, until, times))]
    for process in processes:
        process.start()
    counts, livez = streams.get(timeout=seconds + 300), times.get(timeout=300)
    for process in processes[1:]:
        process.join()
    processes[0].join(60)
    processes[0].kill()
    return {"streams": counts["streams"], "broken": counts["broken"], "first_problem": counts["first"],
            "livez_count": len(livez), "livez_p50_ms": statistics.median(livez),
            "livez_p99_ms": statistics.quantiles(livez, n=100)[98], "livez_max_ms": max(livez),
            "gateway_mib": status_kib(pid, "VmHWM") / 1024, "sampler_went_on": set(samplers) <= set(children(pid))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of the programs")
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gp-hostile-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        with gateway(options.bin.resolve(), pathlib.Path(folder)) as (port, pid):
            result = measure(port, pid, options.seconds)
    for name, value in result.items():
        print(f"{name:16} {value:.1f}" if isinstance(value, float) else f"{name:16} {value}")
    held = (result["broken"] == 0 and result["livez_p99_ms"] <= LIVEZ_P99_MS_MAX and result["sampler_went_on"]
            and result["gateway_mib"] <= GATEWAY_MIB_MAX)
    print("held" if held else "NOT HELD")
    sys.exit(not held)


if __name__ == "__main__":
    main()
