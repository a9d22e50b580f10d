#!/usr/bin/env python3
"""Measures every row that docs/benchmarks promises, ours and the peer in turn, and prints how far each target is met.

    tests/bench/run_table.py [--quick] [--only REGEX] [--llmc DIR] [--text FILE] [--seeds N] [--write] [-o json]

A row whose peer is missing says so. --write publishes in docs/benchmarks/<machine>.json and .md, each row as soon as it is measured; rows
that were not measured this time stay as they were published. Run it on a quiet machine.
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import engine_rows
import layout
import machine
import memory_rows
import published
import recipe_rows

JARGON = pathlib.Path("/usr/share/doc/jargon-text/jargon.txt.gz")


@functools.cache
def recipe_or_error(options):
    try:
        return recipe_rows.measure(options)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return error


def recipe(options, precision):
    """The row of one precision; both precisions come from one measurement."""
    rows = recipe_or_error(options)
    if isinstance(rows, Exception):
        raise rows
    return rows[precision]


# key, description, peer, minimum speed-up (without a peer: maximum GB), how it is measured.
ROWS = [
    ("recipe-fp32", "nanoGPT's CPU recipe through the service, fp32", "nanoGPT on torch", 2.7,
     lambda o: recipe(o, "fp32")),
    ("recipe-bf16", "nanoGPT's CPU recipe, ours with bf16 compute", "nanoGPT on torch", 4.5, lambda o: recipe(o, "bf16")),
    ("step-fp32-eager", "124M step, B=4 T=64, fp32", "torch eager", 3.3,
     lambda o: engine_rows.step(o, "torch", "fp32")),
    ("step-fp32-compile", "124M step, B=4 T=64, fp32", "torch.compile", 3.3,
     lambda o: engine_rows.step(o, "torch-compile", "fp32")),
    ("step-fp32-llmc", "124M step, B=4 T=64, fp32", "llm.c", 5.0, lambda o: engine_rows.step(o, "llmc", "fp32", steps=10)),
    ("step-bf16-eager", "124M step, B=4 T=64, bf16", "torch autocast", 2.3,
     lambda o: engine_rows.step(o, "torch", "bf16")),
    ("step-bf16-compile", "124M step, B=4 T=64, bf16", "torch.compile autocast", 2.3,
     lambda o: engine_rows.step(o, "torch-compile", "bf16")),
    ("step-bf16-t1024", "124M step, B=4 T=1024, bf16", "torch autocast", 1.8,
     lambda o: engine_rows.step(o, "torch", "bf16", sequence=1024, steps=6, block=2, warmup=1)),
    ("sample-fp32-1", "sampling 124M, batch 1, fp32", "Hugging Face generate", 2.0,
     lambda o: engine_rows.sample(o, 1, "fp32")),
    ("sample-fp32-8", "sampling 124M, batch 8, fp32", "Hugging Face generate", 2.0,
     lambda o: engine_rows.sample(o, 8, "fp32")),
    ("sample-bf16-1", "sampling 124M, batch 1, bf16", "Hugging Face generate", 2.0,
     lambda o: engine_rows.sample(o, 1, "bf16")),
    ("sample-bf16-8", "sampling 124M, batch 8, bf16", "Hugging Face generate", 2.0,
     lambda o: engine_rows.sample(o, 8, "bf16")),
    ("bpe-1", "GPT-2 encoding of English, 1 thread", "tiktoken", 2.0, lambda o: engine_rows.tokenizer(o, 1)),
    ("bpe-2", "GPT-2 encoding of English, 2 threads", "tiktoken", 2.0, lambda o: engine_rows.tokenizer(o, 2)),
    ("bpe-learn", "learning 8,192 tokens from English, 2 threads", "Hugging Face tokenizers", 2.0,
     lambda o: engine_rows.learn(o, 2)),
    ("allreduce-2", "all-reduce of 500 MB, 2 processes", "Gloo", 1.5, lambda o: engine_rows.allreduce(o, 2)),
    ("allreduce-4", "all-reduce of 500 MB, 4 processes", "Gloo", 1.5, lambda o: engine_rows.allreduce(o, 4)),
    ("memory-fp32", "memory of the 124M trainer, B=4 T=64, fp32", None, 2.6, memory_rows.trainer),
]


def selected(options):
    return [row for row in ROWS if re.search(options.only, row[0])]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps: a look, nothing to publish")
    parser.add_argument("--only", default="", help="rows whose key matches this regular expression")
    parser.add_argument("--llmc", default=os.environ.get("LLMC"), help="directory of llm.c's source")
    parser.add_argument("--text", type=pathlib.Path, help="text for the recipe and the tokenizer "
                        "(default: .deps/text/tinyshakespeare.txt, else the demo's)")
    parser.add_argument("--seeds", type=int, help="of the recipe: 3, or 1 with --quick; the mean loss of fewer than 3 is not judged")
    parser.add_argument("--write", action="store_true", help="publish under docs/benchmarks")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if options.write and options.quick:
        parser.error("a quick look is nothing to publish: --quick or --write")
    if not selected(options):
        parser.error(f"no row's key matches --only {options.only}; there are {', '.join(key for key, *_ in ROWS)}")
    options.iterations = 200 if options.quick else 2000
    options.seeds = options.seeds or (1 if options.quick else published.JUDGED_SEEDS)
    options.text = (options.text or default_text()).resolve()
    return Options(**vars(options))


class Options(argparse.Namespace):
    """Hashable by identity, so that functools.cache measures only once what two rows share."""
    __hash__ = object.__hash__


def default_text():
    folder = layout.ROOT / ".deps/text"
    for name in ("tinyshakespeare.txt", "jargon.txt"):
        if (folder / name).exists():
            return folder / name
    if not JARGON.exists():
        sys.exit("run_table: no text; pass --text FILE")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "jargon.txt", "wb") as file:
        subprocess.run(["gunzip", "-c", JARGON], stdout=file, check=True)
    return folder / "jargon.txt"


def measure(title, peer, target, how, options):
    row = {"work": title, "peer_name": peer, "target": target, "date": datetime.date.today().isoformat()}
    try:
        row.update(how(options))
    except engine_rows.Missing as error:
        row["missing"] = str(error)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        row["failed"] = str(error)
    return row


def as_document(rows, options):
    return {"apiVersion": "gp/v1", "kind": "BenchmarkTable", "machine": machine.description(), "text": options.text.name,
            "quick": options.quick, "rows": rows}


def earlier_table(options):
    """The published table that the new rows are merged into; None if there is none, or if all rows are measured on another
    text."""
    earlier = published.read(machine.slug()) if options.write else None
    if earlier is None or earlier["text"] == options.text.name:
        return earlier
    if options.only:
        sys.exit(f"run_table: the rows published for this machine are of {earlier['text']}; pass it by --text, or measure all rows")
    return None


def measure_all(options, earlier):
    rows = {}
    for key, title, peer, target, how in selected(options):
        rows[key] = measure(title, peer, target, how, options)
        if options.output == "text":
            print(published.line(rows[key]), flush=True)
        if options.write:
            together = published.merged(rows, earlier, [row[0] for row in ROWS])
            published.write(machine.slug(), as_document(together, options))
    return rows


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that child processes are ended
    options = parse_arguments()
    earlier = earlier_table(options)
    if options.output == "text":
        print(published.heading(machine.description(), options), flush=True)
    rows = measure_all(options, earlier)
    if options.output == "json":
        print(json.dumps(as_document(rows, options), indent=2))
    elif options.write:
        print(f"wrote {layout.PUBLISHED.relative_to(layout.ROOT)}/{machine.slug()}.json and .md")
    return 1 if any("failed" in row for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
