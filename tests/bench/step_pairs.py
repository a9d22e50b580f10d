"""A run that trains on a service of its own, and its speed in pairs of windows."""
import datetime
import json
import math
import os
import statistics
import subprocess
import sys

import layout

PATIENCE_SECONDS = 120
# Quantiles 0.975 of Student's t by degrees of freedom; between two rows the smaller number of degrees counts.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 7: 2.36, 9: 2.26, 14: 2.14, 19: 2.09, 29: 2.05, 59: 2.00, 119: 1.98}
RUN = """apiVersion: gp/v1
name: {name}
model: {{n_layer: 4, n_head: 4, n_embd: 128, n_ctx: 64, pad_vocab_to: 64}}
data: {{text: ["{text}"], tokenizer: bytes}}
resources: {{workers: {workers}}}
batch: {{micro_batch: 4, sequence: 64{batch}}}
budget: {{steps: 100000000}}
eval: {{every: 500}}
checkpoint: {{every: 100000000}}
"""


class Service:
    """`gpctl up` with a home of its own."""

    def __init__(self, home, workers):
        self.home = home
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("GP_", "GPCTL_", "XDG_"))}
        self.environment |= {"HOME": str(home), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self.environment.pop("NO_COLOR", None)
        self.text = home / "text.txt"
        self.text.write_bytes((layout.ROOT / "docs/ARCHITECTURE.md").read_bytes())
        self.gpctl("up", "--detach", "--workers", str(workers))

    def gpctl(self, *arguments):
        done = subprocess.run([layout.program("gpctl"), *map(str, arguments)], env=self.environment, check=False,
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        if done.returncode != 0:
            sys.exit(f"gpctl {arguments[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def train(self, name, workers, batch="", more=""):
        """Submits a run that does not end and waits until it has its speed."""
        run_file = self.home / "run.yaml"
        run_file.write_text(RUN.format(name=name, text=self.text, workers=workers, batch=batch) + more, encoding="utf-8")
        self.gpctl("submit", run_file)
        self.gpctl("wait", name, "--for", "step=200", "--longest", f"{PATIENCE_SECONDS}s")

    def step_times(self, run):
        """When each recorded step ended, in seconds since 1970."""
        lines = self.gpctl("metrics", run, "-o", "json").splitlines()
        return [datetime.datetime.fromisoformat(json.loads(line)["at"].replace("Z", "+00:00")).timestamp() for line in lines]


def speed_in(times, begin, end):
    """Steps a second in the window."""
    steps = sum(1 for at in times if begin <= at < end)
    if steps < 10:
        sys.exit(f"only {steps} steps in a window of {end - begin} s; the window is too short")
    return steps / (end - begin)


def quantile(degrees):
    return next(value for known, value in sorted(STUDENT.items(), reverse=True) if known <= degrees)


def cost_of(speeds):
    """The cost, 1 - speed with / speed without, of pairs (with, without): its mean with the 95 % interval, and its median."""
    costs = [1 - one / other for one, other in speeds]
    mean = statistics.mean(costs)
    margin = quantile(len(costs) - 1) * statistics.stdev(costs) / math.sqrt(len(costs))
    return {"pairs": len(costs), "cost_mean": mean, "cost_low": mean - margin, "cost_high": mean + margin,
            "cost_median": statistics.median(costs)}


def cost_text(cost):
    return (f"mean {100 * cost['cost_mean']:.2f} %, 95 % interval {100 * cost['cost_low']:.2f} to "
            f"{100 * cost['cost_high']:.2f} %, median {100 * cost['cost_median']:.2f} %")
