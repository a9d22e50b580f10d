#!/usr/bin/env python3
"""Measures what other processes on the cores cost a training step, ours and torch's: the recipe's step alone on the machine, and
with one and two processes at `nice 5`, in turn.

    tests/bench/busy_machine.py [--rounds N] [--steps N] [--threads N] [--python PROGRAM] [-o json]

In each load our steps alternate with torch's in blocks, and each round measures every load once. Run it on a machine where nothing
else runs: a load that was there already belongs to every row.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

import engine_rows
import layout
import machine

# A competitor that computes all the time, as a build or a browser does.
SPIN = "while True: pass"
LOADS = (0, 1, 2)
TARGETS = {1: 1.7, 2: 2.3}  # times the quiet step


@contextlib.contextmanager
def competitors(count, niceness):
    command = ["nice", "-n", str(niceness), sys.executable, "-c", SPIN]
    running = [subprocess.Popen(command) for _ in range(count)]
    try:
        time.sleep(0.2 if count else 0)  # until they compute
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(options, count):
    """The milliseconds of a step, {"ours": {"median", "mean", ...}, "torch": {...}}, beside `count` competitors."""
    arguments = ["step", "--model", "tiny", "--batch", 12, "--sequence", 64, "--threads", options.threads, "--peer", "torch",
                 "--python", options.python, "--steps", options.steps, "--block", 20, "--warmup", 20]
    with competitors(count, options.nice):
        report = engine_rows.run_gp_bench(arguments, timeout=900)
    return {"ours": report["step_ms"], "torch": report["peer"]["ms"], "torch_is": report["peer"]["description"]}


def row(rounds, count, side):
    """The medians and means of a side under a load: over the rounds the median, the least and the greatest."""
    values = {}
    for name in ("median", "mean"):
        mine = [one[count][side][name] for one in rounds]
        ratios = [one[count][side][name] / one[0][side][name] for one in rounds]
        values[name] = [statistics.median(mine), min(mine), max(mine)]
        values[f"{name}_ratio"] = [statistics.median(ratios), min(ratios), max(ratios)]
    return values


def table(rounds, counts):
    return {str(count): {side: row(rounds, count, side) for side in ("ours", "torch")} for count in counts}


def spread(values, unit=""):
    return "{:.2f}{unit} ({:.2f} to {:.2f})".format(*values, unit=unit)


def print_table(rows):
    print(f"{'competitors':<12}{'':<7}{'median ms':<26}{'times quiet':<26}{'mean ms':<26}{'times quiet':<26}target")
    for count, sides in rows.items():
        for side, values in sides.items():
            target = f"≤ {TARGETS[int(count)]}" if side == "ours" and int(count) in TARGETS else ""
            print(f"{count if side == 'ours' else '':<12}{side:<7}{spread(values['median']):<26}{spread(values['median_ratio']):<26}"
                  f"{spread(values['mean']):<26}{spread(values['mean_ratio']):<26}{target}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that every load is measured (5)")
    parser.add_argument("--steps", type=int, default=200, help="steps of each side under a load (200)")
    parser.add_argument("--threads", type=int, default=machine.cores(), help="threads of each side (one per core)")
    parser.add_argument("--nice", type=int, default=5, help="niceness of the competitors (5)")
    parser.add_argument("--python", default=str(layout.PEERS_PYTHON), help="Python that has torch")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return parser.parse_args()


def main():
    options = parse_arguments()
    load = os.getloadavg()[0]
    if load > 0.3:
        print(f"busy_machine: the load of the last minute is {load:.1f}; other processes disturb every row", file=sys.stderr)
    rounds = []
    for number in range(options.rounds):
        rounds.append({count: measure(options, count) for count in LOADS})
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    rows = table(rounds, LOADS)
    if options.output == "json":
        print(json.dumps({"machine": machine.description(), "torch": rounds[0][0]["torch_is"], "rounds": options.rounds,
                          "loads": rows}, indent=2))
        return
    print(f"{machine.description()}; {rounds[0][0]['torch_is']}; the recipe's step (tiny, B=12, T=64, fp32), {options.rounds} rounds")
    print_table(rows)


if __name__ == "__main__":
    main()
