#!/usr/bin/env python3
"""What recovery in place costs the steps of a run that nothing disturbs, on this machine.

    tests/bench/recovery_cost.py [--pairs 30] [--seconds 8] [--workers 2] [-o json]

Each pair is two runs of the same settings but `stability.recovery`: in_place and restart; the order alternates from pair to pair.
Speeds are counted from the times of the runs' recorded steps in a window of --seconds. Printed are the medians, and the cost
(1 - speed in_place / speed restart) of the pairs: its mean with the 95 % interval of Student's t, and its median. The exit status is 1
if the upper end of the interval is above 1.5 %.
"""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

from step_pairs import Service, cost_of, cost_text, speed_in

COST_MAX = 0.015


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--workers", type=int, default=2, help="ranks of each run")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if options.pairs < 2 or options.workers < 2:
        parser.error("expected at least 2 pairs and 2 workers: a run of one rank always restarts")
    return options


def speed_of(service, options, number, recovery):
    name = f"{recovery.replace('_', '-')}-{number}"
    service.train(name, options.workers, f", total_tokens: {256 * options.workers}", f"stability: {{recovery: {recovery}}}\n")
    begin = time.time()
    time.sleep(options.seconds)
    end = time.time()
    times = service.step_times(name)
    service.gpctl("cancel", name, "--now")
    service.gpctl("wait", name, "--for", "state=cancelled")
    return speed_in(times, begin, end)


def main():
    options = parse_arguments()
    pairs = []
    with tempfile.TemporaryDirectory(prefix="gp-recovery-cost-") as home:
        service = Service(pathlib.Path(home), options.workers)
        try:
            for number in range(options.pairs):
                order = ("in_place", "restart") if number % 2 == 0 else ("restart", "in_place")
                speeds = {recovery: speed_of(service, options, number, recovery) for recovery in order}
                pairs.append((speeds["in_place"], speeds["restart"]))
        finally:
            service.gpctl("down")
    result = {"workers": options.workers, "steps_per_second_in_place": statistics.median(one for one, _ in pairs),
              "steps_per_second_restart": statistics.median(other for _, other in pairs)} | cost_of(pairs)
    if options.output == "json":
        print(json.dumps(result))
    else:
        print(f"{options.workers} ranks: {result['steps_per_second_in_place']:.1f} steps/s with recovery in place, "
              f"{result['steps_per_second_restart']:.1f} with restart (medians of {result['pairs']} pairs)")
        print(f"cost of training: {cost_text(result)}")
    sys.exit(1 if result["cost_high"] > COST_MAX else 0)


if __name__ == "__main__":
    main()
