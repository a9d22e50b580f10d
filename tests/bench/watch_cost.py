#!/usr/bin/env python3
"""What a running `gpctl watch` costs training, on this machine.

    tests/bench/watch_cost.py [--pairs 30] [--seconds 10] [--size 120x40] [--screen watch|top] [-o json]

One run trains on every slot of a service of its own. Each pair is two windows of --seconds: one with the screen open in a
pseudo-terminal of --size, one without; the order alternates from pair to pair. The first two seconds of each window do not count: the
screen reads the run's past then. Speeds are counted from the times of the run's recorded steps, so that the measurement itself
asks nothing. Printed are the medians, and the cost (1 - speed with / speed without) of the pairs: its mean with the 95 % interval of
Student's t, and its median. The exit status is 1 if the upper end of the interval is above 1.5 %.
"""
import argparse
import fcntl
import json
import os
import pathlib
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

import layout
from step_pairs import PATIENCE_SECONDS, Service, cost_of, cost_text, speed_in

SETTLING_SECONDS = 2
COST_MAX = 0.015


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--screen", choices=("watch", "top"), default="watch")
    parser.add_argument("--workers", type=int, default=0, help="ranks and slots; 0: one for each two cores")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if options.pairs < 2 or options.seconds <= SETTLING_SECONDS:
        parser.error(f"expected at least 2 pairs of windows longer than {SETTLING_SECONDS} s")
    return options


class Screen:
    """gpctl's live screen in a pseudo-terminal, whose bytes are read and counted."""

    def __init__(self, service, command, size):
        columns, rows = map(int, size.split("x"))
        self.bytes = 0
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([layout.program("gpctl"), *command], env=service.environment, stdin=inner, stdout=inner,
                                        stderr=inner, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(inner)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while True:
            try:
                piece = os.read(self.terminal, 1 << 16)
            except OSError:  # the program has ended
                return
            if not piece:
                return
            self.bytes += len(piece)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=PATIENCE_SECONDS)
        self.reader.join()
        os.close(self.terminal)


def measure(options, service):
    """The windows of each pair: (begin, end) by whether the screen is open; and the bytes that it was sent a second."""
    command = ["watch", "watched"] if options.screen == "watch" else ["top"]
    pairs, sent = [], []
    for number in range(options.pairs):
        pair = {}
        for is_open in ((True, False) if number % 2 == 0 else (False, True)):
            screen = Screen(service, command, options.size) if is_open else None
            time.sleep(SETTLING_SECONDS)
            before, begin = screen.bytes if screen else 0, time.time()
            time.sleep(options.seconds - SETTLING_SECONDS)
            pair[is_open] = (begin, time.time())
            if screen:
                if screen.process.poll() is not None:
                    sys.exit(f"gpctl {options.screen} ended by itself: exit {screen.process.returncode}")
                sent.append((screen.bytes - before) / (options.seconds - SETTLING_SECONDS))
                screen.close()
        pairs.append(pair)
    return pairs, sent


def summary(options, times, pairs, sent):
    speeds = [(speed_in(times, *pair[True]), speed_in(times, *pair[False])) for pair in pairs]
    return {"screen": options.screen, "size": options.size,
            "steps_per_second_watched": statistics.median(one for one, _ in speeds),
            "steps_per_second_alone": statistics.median(other for _, other in speeds),
            "bytes_per_second": statistics.median(sent)} | cost_of(speeds)


def main():
    options = parse_arguments()
    workers = options.workers or max((os.cpu_count() or 1) // 2, 1)
    with tempfile.TemporaryDirectory(prefix="gp-watch-cost-") as home:
        service = Service(pathlib.Path(home), workers)
        try:
            service.train("watched", workers)
            pairs, sent = measure(options, service)
            result = summary(options, service.step_times("watched"), pairs, sent)
        finally:
            service.gpctl("cancel", "watched", "--now")
            service.gpctl("down")
    if options.output == "json":
        print(json.dumps(result))
    else:
        print(f"gpctl {result['screen']} at {result['size']}: {result['steps_per_second_watched']:.1f} steps/s with it, "
              f"{result['steps_per_second_alone']:.1f} without (medians of {result['pairs']} pairs)")
        print(f"cost of training: {cost_text(result)}; {result['bytes_per_second']:.0f} bytes/s to the terminal")
    sys.exit(1 if result["cost_high"] > COST_MAX else 0)


if __name__ == "__main__":
    main()
