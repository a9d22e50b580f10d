"""Rows of the table that gp-bench measures by itself: it alternates our work with a peer's in one process tree."""
import json
import os
import subprocess

import layout


def run_gp_bench(arguments, timeout):
    """The report of `gp-bench ARGUMENTS -o json`. RuntimeError with its own words when it fails."""
    command = [str(layout.program("gp-bench")), *map(str, arguments), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        words = [line for line in done.stderr.strip().splitlines() if line]
        raise RuntimeError(words[-1] if words else f"gp-bench ended with {done.returncode}")
    return json.loads(done.stdout)


def paired(arguments, ours_key, timeout=600, scale=1.0, unit="ms"):
    """A row's values from a report with a peer. `scale` turns milliseconds into the unit, which grows with time."""
    report = run_gp_bench(arguments, timeout)
    ours, peer = report[ours_key], report["peer"]
    blocks = peer["ratio_by_block"]
    return {
        "unit": unit,
        "ours": [ours[key] * scale for key in ("median", "quartile_1", "quartile_3")],
        "peer": [peer["ms"][key] * scale for key in ("median", "quartile_1", "quartile_3")],
        "peer_is": peer["description"],
        "ratio": peer["ratio_of_medians"],
        "spread": [blocks["quartile_1"], blocks["quartile_3"]],
    }


def step(options, peer, precision, sequence=64, batch=4, steps=20, block=5, warmup=3):
    if options.quick:
        steps, block, warmup = min(steps, 4), 2, 1
    arguments = ["step", "--model", "124M", "--batch", batch, "--sequence", sequence, "--precision", precision,
                 "--peer", peer, "--steps", steps, "--block", block, "--warmup", warmup]
    if peer == "llmc":
        if not options.llmc:
            raise LookupError("no copy of llm.c: pass --llmc DIR")
        arguments += ["--llmc", options.llmc]
    return paired(arguments, "step_ms", timeout=900)


def sample(options, batch, precision):
    steps, tokens = (2, 16) if options.quick else (6, 64)
    arguments = ["sample", "--model", "124M", "--batch", batch, "--precision", precision, "--tokens", tokens,
                 "--peer", "hf", "--steps", steps, "--block", 2, "--warmup", 1]
    return paired(arguments, "ms")


def tokenizer(options, threads):
    steps = 6 if options.quick else 20
    arguments = ["tokenizer", "--text", options.text, "--threads", threads, "--peer", "tiktoken",
                 "--steps", steps, "--block", 2, "--warmup", 1]
    return paired(arguments, "ms")


def allreduce(options, ranks):
    megabytes = 50 if options.quick else 500
    arguments = ["allreduce", "--ranks", ranks, "--megabytes", megabytes, "--peer", "gloo"]
    if ranks > len(os.sched_getaffinity(0)) * 4:
        raise LookupError(f"{ranks} processes on {len(os.sched_getaffinity(0))} cores say nothing")
    return paired(arguments, "ms")
