#!/usr/bin/env python3
"""What TLS and tokens cost: submits and training with them and without (--insecure), in turn, on this machine.

    tests/bench/tls_cost.py [--rounds 15] [--submits 100] [--steps 100] [-o json]

Two coordinators run side by side, each with an agent; one serves TLS 1.3 to tokens and node certificates, the other one plain TCP.
First each trains --steps steps, --rounds times in turn. Then each round submits --submits runs to each over connections that stay
open, by one caller and by eight, and five runs by the program gpctl, which connects anew. The order alternates from round to round.
Printed are medians of the time for one step, of the processor time of agent and coordinator for one step, and of the time for one
submit, and the ratio TLS / plain of each round: median, least and greatest.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import layout

PATIENCE_SECONDS = 120
# Waits in the queue forever: no node has that many slots.
QUEUED = """apiVersion: gp/v1
name: {name}
model: {{n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16, pad_vocab_to: 64}}
data: {{text: ["{text}"], tokenizer: bytes}}
resources: {{workers: 64}}
batch: {{micro_batch: 1, sequence: 16}}
budget: {{steps: 1}}
"""
TRAINED = """apiVersion: gp/v1
name: {name}
model: {{n_layer: 6, n_head: 4, n_embd: 256, n_ctx: 128, pad_vocab_to: 64}}
data: {{text: ["{text}"], tokenizer: bytes}}
batch: {{micro_batch: 8, sequence: 128}}
budget: {{steps: {steps}}}
eval: {{every: 0}}
checkpoint: {{every: 1000000}}
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("rounds", 15), ("submits", 100), ("steps", 100)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return parser.parse_args()


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Cluster:
    """A coordinator and an agent on loopback. `tls`: with certificates and tokens; else --insecure."""

    def __init__(self, home, tls):
        self.home, self.tls, self.name = home, tls, "TLS" if tls else "plain"
        self.processes = []
        self.text = home / "text.txt"
        self.text.write_bytes((layout.ROOT / "docs/ARCHITECTURE.md").read_bytes())
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("GP_")}
        self.environment |= {"HOME": str(home), "GP_COORDINATOR_LIMITS_CALLS_PER_SECOND": "1000000",
                             "GP_COORDINATOR_LIMITS_RUNS": "20000", "GP_COORDINATOR_LIMITS_WAITING_RUNS": "20000"}
        how = [] if tls else ["--insecure"]
        self.coordinator = self.start("gp-coordinator", "--listen", "127.0.0.1:0", "--state-dir", "coordinator", "--storage-root",
                                      "runs", "--metrics-listen", "127.0.0.1:0", *how)
        self.address = self.serving("gp-coordinator")["listen"]
        if tls:
            self.gpctl("token", "create", "--join", "--ttl", "10m", "--out", "join.token")
            how = ["--join-token-file", "join.token"]
        self.agent = self.start("gp-worker", "--coordinator", self.address, "--state-dir", "node", "--storage-root", "runs",
                                "--data-root", str(home), "--slots", "1", "--metrics-listen", "127.0.0.1:0", *how)
        self.serving("gp-worker")

    def start(self, program, *arguments):
        log = open(self.home / f"{program}.log", "wb")  # closed with this process
        process = subprocess.Popen([layout.program(program), "--address-file", f"{program}.json", *arguments], cwd=self.home,
                                   env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def serving(self, program):
        """Waits until the program serves; returns the content of its address file."""
        end = time.monotonic() + PATIENCE_SECONDS
        path = self.home / f"{program}.json"
        while not path.exists():
            if time.monotonic() > end or self.processes[-1].poll() is not None:
                sys.exit(f"{program} does not serve:\n" + (self.home / f"{program}.log").read_text())
            time.sleep(0.01)
        return json.loads(path.read_text())

    def gpctl(self, *arguments):
        """Runs gpctl over the coordinator's Unix socket, with the owner's rights."""
        return self.run(layout.program("gpctl"), "--server", f"unix:{self.home}/coordinator/coordinator.sock", *arguments)

    def run(self, *command, **environment):
        done = subprocess.run([str(word) for word in command], cwd=self.home, env=self.environment | environment, check=False,
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        if done.returncode != 0:
            sys.exit(f"{command[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def write(self, name, text, **values):
        path = self.home / "run.yaml"
        path.write_text(text.format(name=name, text=self.text, **values), encoding="utf-8")
        return path

    def submit_seconds(self, name, callers, count):
        path = self.write(name, QUEUED)
        secrets = [self.home / "coordinator/security/ca.crt", self.home / "coordinator/security/admin.token"] if self.tls else []
        return json.loads(self.run(layout.test_program("submit_rate"), self.address, path, callers, count, *secrets))["seconds"]

    def log_in(self):
        if self.tls:
            self.run(layout.program("gpctl"), "login", self.address, "--token-file", "coordinator/security/admin.token")

    def gpctl_seconds(self, name):
        path = self.write(name, QUEUED)
        where = [] if self.tls else ["--server", self.address]
        begin = time.monotonic()
        self.run(layout.program("gpctl"), "submit", path, *where)
        return time.monotonic() - begin

    def train(self, name, steps):
        """Seconds of a step (median), and processor seconds of agent and coordinator for it."""
        path = self.write(name, TRAINED, steps=steps)
        before = [processor_seconds(process.pid) for process in (self.coordinator, self.agent)]
        self.gpctl("submit", path)
        self.gpctl("wait", name)
        after = [processor_seconds(process.pid) for process in (self.coordinator, self.agent)]
        points = [json.loads(line) for line in self.gpctl("metrics", name, "-o", "json").splitlines()]
        seconds = [point["step_seconds"] for point in points if "step_seconds" in point]
        if len(seconds) < steps // 2:
            sys.exit(f"{name}: {len(seconds)} points of {steps} steps")
        return {"step": statistics.median(seconds), "agent and coordinator": (sum(after) - sum(before)) / steps}

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            if process.poll() is None:
                process.kill()


def train(cluster, number, options):
    return cluster.train(f"trained-{number}", options.steps)


def submit(cluster, number, options):
    """Seconds for one submit, for each way to submit."""
    return {"submit, 1 caller": cluster.submit_seconds(f"one-{number}", 1, options.submits) / options.submits,
            "submit, 8 callers": cluster.submit_seconds(f"eight-{number}", 8, options.submits) / options.submits,
            "gpctl submit": statistics.median(cluster.gpctl_seconds(f"cli-{number}-{i}") for i in range(5))}


def in_turn(measure, clusters, options):
    """[{name of a cluster: what was measured}], one for each round."""
    found = []
    for number in range(options.rounds + 1):
        order = clusters if number % 2 == 0 else clusters[::-1]
        found.append({cluster.name: measure(cluster, number, options) for cluster in order})
        print(f"{measure.__name__}: round {number} of {options.rounds}", file=sys.stderr)
    return found[1:]  # the first warms up


def summary(found):
    table = {}
    for key in found[0]["TLS"]:
        ratios = [one["TLS"][key] / one["plain"][key] for one in found]
        table[key] = {"tls_seconds": statistics.median(one["TLS"][key] for one in found),
                      "plain_seconds": statistics.median(one["plain"][key] for one in found),
                      "ratio": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)}
    return table


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="gp-tls-cost-") as scratch, contextlib.ExitStack() as stack:
        clusters = []
        for tls in (True, False):
            home = pathlib.Path(scratch, "tls" if tls else "plain")
            home.mkdir()
            clusters.append(Cluster(home, tls))
            stack.callback(clusters[-1].stop)
            clusters[-1].log_in()
        # Measure training first: the submit benchmark leaves runs in the queue, and a training run submitted later would wait
        # after them.
        table = summary(in_turn(train, clusters, options)) | summary(in_turn(submit, clusters, options))
    if options.output == "json":
        print(json.dumps(table))
        return
    print(f"{'':22}{'TLS':>12}{'plain':>12}{'ratio':>8}   least to greatest")
    for key, row in table.items():
        print(f"{key:22}{row['tls_seconds'] * 1e3:>9.3f} ms{row['plain_seconds'] * 1e3:>9.3f} ms{row['ratio']:>8.3f}"
              f"   {row['least']:.3f} to {row['greatest']:.3f}")


if __name__ == "__main__":
    main()
