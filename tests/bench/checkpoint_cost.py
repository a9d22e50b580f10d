#!/usr/bin/env python3
"""What checkpoints cost: the trainer of a model with and without one every --every steps, in turn.

    tests/bench/checkpoint_cost.py [--every 50] [--rounds 2] [--layers 12 --channels 768 ...] [-o json]

A round trains once without and once with checkpoints on the same text and compares the wall time of the steps around two
checkpoints. Where the machine's speed drifts between the two, look at the second number: by how much the steps after a checkpoint
are longer than the other steps of the same run. The third is the processor time of the threads that do not compute (digests,
writing, committing), as a share of the whole process's, with checkpoints less without.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import layout

RUN_FILE = """apiVersion: gp/v1
name: checkpoint-cost
model: {{n_layer: {layers}, n_head: {heads}, n_embd: {channels}, n_ctx: 1024, vocab: {vocabulary}}}
data: {{text: [{text}], tokenizer: bytes}}
batch: {{micro_batch: 4, sequence: 64}}
budget: {{steps: {steps}}}
eval: {{every: 0, batches: 1}}
checkpoint: {{every: {every}, keep_last: 1}}
"""


STEPS_AFTER = 5  # so many steps count as affected by a checkpoint: it is written long before the last of them


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("every", 50), ("rounds", 2), ("layers", 12), ("heads", 12), ("channels", 768),
                        ("vocabulary", 50304)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if options.every <= STEPS_AFTER:
        parser.error(f"--every {options.every}: at least {STEPS_AFTER + 1}, so that some steps have no checkpoint before them")
    return options


def thread_seconds(pid):
    """Processor seconds of each thread that is alive."""
    tick = os.sysconf("SC_CLK_TCK")
    seconds = {}
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        seconds[task.name] = (int(fields[11]) + int(fields[12])) / tick
    return seconds


def watch(process, metrics, first, last):
    """Waits for the end of the process. Returns the wall seconds between the ends of two steps, and the processor seconds of
    every thread that ran, which are approximate because they are sampled every 50 ms."""
    threads, ends = {}, {}
    while process.poll() is None:
        threads.update(thread_seconds(process.pid))
        done = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
        for step in (first, last):
            if done >= step:
                ends.setdefault(step, time.perf_counter())
        time.sleep(0.05)
    return ends.get(last, 0) - ends.get(first, 0), sorted(threads.values(), reverse=True)


def share_after_checkpoints(metrics, every, first, last):
    """By how much the STEPS_AFTER steps after each checkpoint exceed the median of the other steps, as a share of the time of
    all steps."""
    steps = {row["step"]: row["step_seconds"] for row in map(json.loads, metrics.read_text().splitlines())
             if first < row["step"] <= last}
    after = {step: seconds for step, seconds in steps.items() if 1 <= step % every <= STEPS_AFTER}
    usual = statistics.median(seconds for step, seconds in steps.items() if step not in after)
    return sum(seconds - usual for seconds in after.values()) / sum(steps.values())


def train(options, every, scratch):
    """Trains once and measures 2 * options.every steps that contain two checkpoints: they begin and end halfway between two
    checkpoints. The checkpoint of the last step is outside."""
    directory = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    first = options.every // 2
    last = first + 2 * options.every
    run_file = directory / "run.yaml"
    run_file.write_text(RUN_FILE.format(text=scratch / "text.txt", steps=last + 1, **{**vars(options), "every": every}))
    log = directory / "log"
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen([str(layout.program("gp-trainer")), "--spec", str(run_file), "--out",
                                    str(directory / "out")], stdout=file, stderr=file)
        seconds, threads = watch(process, directory / "out/metrics.jsonl", first, last)
    if process.returncode != 0:
        sys.exit("checkpoint_cost: " + log.read_text()[-400:])
    own = share_after_checkpoints(directory / "out/metrics.jsonl", options.every, first, last)
    shutil.rmtree(directory)
    cores = len(os.sched_getaffinity(0))
    return {"step": seconds / (last - first), "own_cost": own, "side_seconds": sum(threads[cores:]), "all_seconds": sum(threads)}


def main():
    options = parse_arguments()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        (scratch / "text.txt").write_text("All work and no play makes Jack a dull boy.\n" * 4000)
        for _ in range(options.rounds):
            without, saved = train(options, 0, scratch), train(options, options.every, scratch)
            rounds.append({
                "step_ms_without": 1e3 * without["step"],
                "step_ms_with": 1e3 * saved["step"],
                "cost": 1 - without["step"] / saved["step"],
                "own_cost": saved["own_cost"],
                "side_threads": (saved["side_seconds"] - without["side_seconds"]) / saved["all_seconds"]})
    report = {"apiVersion": "gp/v1", "kind": "CheckpointCost", "every": options.every, "rounds": rounds,
              "cost": statistics.median(r["cost"] for r in rounds),
              "own_cost": statistics.median(r["own_cost"] for r in rounds),
              "side_threads": statistics.median(r["side_threads"] for r in rounds)}
    if options.output == "json":
        print(json.dumps(report, indent=2))
        return
    for number, result in enumerate(rounds, start=1):
        print(f"round {number}: step {result['step_ms_without']:.1f} ms without, {result['step_ms_with']:.1f} ms with a checkpoint "
              f"every {options.every}: {100 * result['cost']:+.2f} % against a run without, "
              f"{100 * result['own_cost']:+.2f} % from slower steps after each checkpoint; "
              f"digests and commits take {100 * result['side_threads']:.2f} % of the processor time")
    print(f"median: {100 * report['cost']:+.2f} % of the throughput, within the run {100 * report['own_cost']:+.2f} % "
          "(target: at most 2 %), "
          f"{100 * report['side_threads']:.2f} % of the processor time (target: at most 1 %)")


if __name__ == "__main__":
    main()
