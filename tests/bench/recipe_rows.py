"""The rows that run the whole of nanoGPT's CPU recipe: ours through the service (`gpctl submit --wait`, one worker with every
core), alternating with nanoGPT's on torch. The weights of both are judged on the whole validation split by the same code."""
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import layout

RECIPE = layout.ROOT / "configs/runs/shakespeare-char-cpu.yaml"


class Service:
    """A local service with one worker, in a directory of its own."""

    def __init__(self, directory):
        self.directory = directory

    def __enter__(self):
        self.gpctl("up", "--workers", "1", "--detach")
        return self

    def __exit__(self, *_):
        self.gpctl("down")

    def gpctl(self, *arguments):
        command = [str(layout.program("gpctl")), *arguments, "--state-dir", self.directory]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"gpctl {arguments[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout


def run_ours(service, options, precision, seed):
    """Submits the recipe and waits for it. Returns the wall seconds and the weights of its last checkpoint."""
    name = f"recipe-{precision}-{seed}"
    settings = {"data.text": options.text, "resources.workers": 1, "batch.micro_batch": 12, "precision": precision,
                "seed": seed, "sample.every": 0, "eval.batches": 40, "budget.steps": options.iterations}
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    start = time.perf_counter()
    service.gpctl("submit", str(RECIPE), "--name", name, "--wait", *overrides)
    wall = time.perf_counter() - start
    checkpoints = json.loads(service.gpctl("ckpt", "list", name, "-o", "json"))["items"]
    newest = max(checkpoints, key=lambda checkpoint: checkpoint["step"])
    return wall, pathlib.Path(newest["directory"]) / "model.safetensors"


def peers_program(*arguments):
    command = [str(layout.PEERS_PYTHON), str(layout.PEERS / "nanogpt_recipe.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode != 0:
        raise RuntimeError("nanogpt_recipe.py: " + done.stderr.strip()[-300:])
    return json.loads(done.stdout.strip().splitlines()[-1])


def judge(weights, options):
    return peers_program("--text", options.text, "--judge", weights)["validation_loss"]


def row(ours, peer, ours_loss, peer_loss, iterations):
    ratios = [theirs / mine for mine, theirs in zip(ours, peer)]
    return {
        "unit": "s",
        "ours": [statistics.median(ours), min(ours), max(ours)],
        "peer": [statistics.median(peer), min(peer), max(peer)],
        "peer_is": f"nanoGPT's recipe on torch eager, fp32, {iterations} iterations, {len(peer)} seeds",
        "ratio": statistics.median(peer) / statistics.median(ours),
        "spread": [min(ratios), max(ratios)],
        "seeds": len(peer),
        "validation_loss": {"ours": statistics.fmean(ours_loss), "peer": statistics.fmean(peer_loss)},
    }


def measure(options):
    """Both precisions of ours and the peer, seed after seed: {"fp32": row, "bf16": row}."""
    walls = {"fp32": [], "bf16": [], "peer": []}
    losses = {"fp32": [], "bf16": [], "peer": []}
    with tempfile.TemporaryDirectory() as scratch, Service(scratch + "/service") as service:
        for seed in range(1337, 1337 + options.seeds):
            for precision in ("fp32", "bf16"):
                wall, weights = run_ours(service, options, precision, seed)
                walls[precision].append(wall)
                losses[precision].append(judge(weights, options))
            peer = peers_program("--text", options.text, "--seed", seed, "--iterations", options.iterations)
            walls["peer"].append(peer["wall_seconds"])
            losses["peer"].append(peer["validation_loss"])
    return {precision: row(walls[precision], walls["peer"], losses[precision], losses["peer"], options.iterations)
            for precision in ("fp32", "bf16")}
