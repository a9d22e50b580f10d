#!/usr/bin/env python3
"""`gpctl data prepare` beside the published scripts with tiktoken (peers/prepare_shards.py), on the same JSON lines and as many
processes as threads. Prints the medians in MB of text a second and their ratio.

    tests/bench/prepare_rate.py build/release/bin/gpctl TEXT... [--mb 60] [--times 3]

Documents of some 4 KB are cut from the texts at line ends, again and again until there is enough. The peers' time counts from the
first document, gpctl's from the start of the program.
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = [ROOT / ".deps/peers/bin/python", ROOT / "tests/bench/peers/prepare_shards.py"]
STYLES = {"build-nanogpt": ["--format", "npy", "--val-tokens", "1000"], "nanogpt": ["--format", "nanogpt", "--val-fraction", "0"]}


def documents(paths):
    for path in paths:
        data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
        lines, size = [], 0
        for line in data.decode("utf-8", "replace").splitlines(keepends=True):
            lines.append(line)
            size += len(line)
            if size > 4096:
                yield "".join(lines)
                lines, size = [], 0


def write_input(paths, target, megabytes):
    pieces = list(documents(paths))
    size = 0
    with open(target, "w", encoding="utf-8") as out:
        while size < megabytes * 1e6:
            for piece in pieces:
                out.write(json.dumps({"text": piece}) + "\n")
                size += len(piece.encode())
    return size


def seconds_of_peer(style, text, out, threads):
    words = [*PEER, "--style", style, "--input", text, "--out", out, "--procs", threads]
    return float(subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE).stdout)


def seconds_of_gpctl(gpctl, style, text, out, threads):
    words = [gpctl, "data", "prepare", text, "--out", out, "--threads", threads, *STYLES[style]]
    started = time.monotonic()
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpctl")
    parser.add_argument("texts", nargs="+", type=pathlib.Path)
    parser.add_argument("--mb", type=int, default=60)
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        size = write_input(arguments.texts, folder / "text.jsonl", arguments.mb)
        for style in STYLES:
            rates = {"peer": [], "gpctl": []}
            for _ in range(arguments.times):
                rates["peer"].append(size / 1e6 / seconds_of_peer(style, folder / "text.jsonl", folder / "peer", threads))
                rates["gpctl"].append(size / 1e6 / seconds_of_gpctl(arguments.gpctl, style, folder / "text.jsonl",
                                                                    folder / "gpctl", threads))
                shutil.rmtree(folder / "peer")
                shutil.rmtree(folder / "gpctl")
            peer, ours = statistics.median(rates["peer"]), statistics.median(rates["gpctl"])
            print(f"{style}: gpctl {ours:.1f} MB/s ({min(rates['gpctl']):.1f} to {max(rates['gpctl']):.1f}), "
                  f"script {peer:.1f} MB/s ({min(rates['peer']):.1f} to {max(rates['peer']):.1f}), {ours / peer:.1f} times; "
                  f"{threads} cores, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
