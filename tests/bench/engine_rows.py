"""Rows of the table that one call of gp-peer-bench measures: it alternates our work with a peer's in one process tree."""
import json
import subprocess

import layout


class Missing(Exception):
    """Something that a row needs is missing; the message says what it is and how to get it."""


def run_gp_bench(arguments, timeout):
    """The report of `gp-peer-bench ARGUMENTS -o json`. If it fails, raises RuntimeError with its last line of stderr."""
    command = [str(layout.program("gp-peer-bench")), *map(str, arguments), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        words = [line for line in done.stderr.strip().splitlines() if line]
        raise RuntimeError(words[-1] if words else f"gp-peer-bench ended with {done.returncode}")
    return json.loads(done.stdout)


def paired(report, ours_key):
    """A row's values from a report with a peer, in milliseconds."""
    ours, peer = report[ours_key], report["peer"]
    blocks = peer["ratio_by_block"]
    return {
        "unit": "ms",
        "ours": [ours[key] for key in ("median", "quartile_1", "quartile_3")],
        "peer": [peer["ms"][key] for key in ("median", "quartile_1", "quartile_3")],
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
            raise Missing("no copy of llm.c: pass --llmc DIR")
        arguments += ["--llmc", options.llmc]
    return paired(run_gp_bench(arguments, timeout=900), "step_ms")


def sample(options, batch, precision):
    steps, tokens = (2, 16) if options.quick else (6, 64)
    arguments = ["sample", "--model", "124M", "--batch", batch, "--precision", precision, "--tokens", tokens,
                 "--peer", "hf", "--steps", steps, "--block", 2, "--warmup", 1]
    return paired(run_gp_bench(arguments, timeout=600), "ms")


def tokenizer(options, threads):
    steps = 6 if options.quick else 20
    arguments = ["tokenizer", "--text", options.text, "--threads", threads, "--peer", "tiktoken",
                 "--steps", steps, "--block", 2, "--warmup", 1]
    return paired(run_gp_bench(arguments, timeout=600), "ms")


def learn(options, threads):
    arguments = ["tokenizer", "--text", options.text, "--threads", threads, "--learn", 8192, "--peer", "tokenizers",
                 "--steps", 4 if options.quick else 10, "--block", 2, "--warmup", 1]
    return paired(run_gp_bench(arguments, timeout=600), "ms")


def allreduce(options, ranks):
    arguments = ["allreduce", "--size", "50MB" if options.quick else "500MB", "--ranks", ranks, "--peer", "gloo"]
    return paired(run_gp_bench(arguments, timeout=600)["results"][0], "ms")
