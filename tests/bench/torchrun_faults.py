#!/usr/bin/env python3
"""What 'gpctl bench faults' measures, of torchrun: four ranks with Gloo train a small model and save a checkpoint every 20 steps;
a random rank is killed at random moments, and the agent starts all ranks again, which resume from the newest checkpoint. Prints the
time from the kill to the first step after it, and the steps that were taken again.

    .deps/peers/bin/python tests/bench/torchrun_faults.py --kills 10 [--seed N] [-o json]
"""
import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RANKS = 4
SAVE_EVERY = 20
FIRST_STEP = 5
STEPS_APART = 30
# Without it torchrun 2.11 does not recover: https://github.com/pytorch/pytorch/issues/135712
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
PATIENCE_SECONDS = 120


def train(folder):
    """One rank: a model with 10 MB of gradients, as that of 'gpctl bench faults'."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    width = 256
    block = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.1, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(256, width), torch.nn.TransformerEncoder(block, 3, enable_nested_tensor=False),
                                torch.nn.Linear(width, 256))
    optimizer = torch.optim.AdamW(model.parameters())
    checkpoint, step = folder / "checkpoint.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    replica = torch.nn.parallel.DistributedDataParallel(model)
    with open(folder / f"steps-{rank}", "a", buffering=1, encoding="utf-8") as log:
        while True:
            tokens = torch.randint(0, 256, (1, 33))
            loss = torch.nn.functional.cross_entropy(replica(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            log.write(f"{step} {time.time()} {os.getpid()}\n")
            if rank == 0 and step % SAVE_EVERY == 0:
                part = folder / "checkpoint.part"
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, part)
                part.rename(checkpoint)


def steps_of(folder):
    """The steps of rank 0: (step, time, process)."""
    path = folder / "steps-0"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [line.split() for line in lines]
    return [(int(row[0]), float(row[1]), int(row[2])) for row in rows if len(row) == 3]


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    sys.exit(f"error: torchrun: no {what} within {PATIENCE_SECONDS} s")


def ranks_of(agent):
    return [int(pid) for pid in pathlib.Path(f"/proc/{agent}/task/{agent}/children").read_text().split()]


def measure(kills, seed):
    draw = random.Random(seed)
    seconds, redone = [], 0
    with tempfile.TemporaryDirectory(prefix="torchrun-") as name:
        folder = pathlib.Path(name)
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS), "--max-restarts", "1000",
                   "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "--monitor-interval", "0.1", __file__,
                   "--worker", name]
        with open(folder / "log", "w", encoding="utf-8") as log, subprocess.Popen(
                command, env={**os.environ, **OWN_STORE, "OMP_NUM_THREADS": "1"}, stdout=log, stderr=log) as agent:
            try:
                wait_for("first steps", lambda: len(steps_of(folder)) >= FIRST_STEP)
                for number in range(kills):
                    target = steps_of(folder)[-1][0] + draw.randint(1, STEPS_APART)
                    wait_for(f"step {target}", lambda: steps_of(folder)[-1][0] >= target)
                    time.sleep(draw.uniform(0, 0.03))
                    before = steps_of(folder)[-1]
                    killed = time.time()
                    os.kill(draw.choice(ranks_of(agent.pid)), signal.SIGKILL)
                    after = wait_for("step after a kill", lambda: next(
                        (row for row in steps_of(folder) if row[1] > killed and row[2] != before[2]), None))
                    last = max(row[0] for row in steps_of(folder) if row[2] == before[2])
                    seconds.append(after[1] - killed)
                    redone += max(0, last + 1 - after[0])
                    print(f"  {number + 1} of {kills}: {seconds[-1]:.2f} s", file=sys.stderr)
            finally:
                agent.send_signal(signal.SIGTERM)
                try:
                    agent.wait(30)
                except subprocess.TimeoutExpired:
                    agent.kill()
    return seconds, redone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return train(arguments.worker)
    import torch
    print(f"seed {arguments.seed}", file=sys.stderr)
    seconds, redone = measure(arguments.kills, arguments.seed)
    seconds.sort()
    row = {"fault": "kill a rank", "program": f"torchrun {torch.__version__.split('+')[0]}", "ranks": RANKS,
           "kills": len(seconds), "next_step_seconds_p50": statistics.median_low(seconds),
           "next_step_seconds_p99": seconds[-1], "steps_redone": redone}
    if arguments.output == "json":
        print(json.dumps(row, indent=2))
    else:
        print(f"{row['program']}: {row['kills']} kills, next step after {row['next_step_seconds_p50']:.2f} s (median), "
              f"{row['next_step_seconds_p99']:.2f} s (longest); {redone} steps taken again")


if __name__ == "__main__":
    main()
