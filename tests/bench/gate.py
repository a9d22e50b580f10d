#!/usr/bin/env python3
"""Fails when a ratio to a peer, measured anew in a quick run, is below 0.7 of what docs/benchmarks publishes for this machine.

    tests/bench/gate.py

Loose on purpose: shared machines are noisy. Skips (exit status 77) where no peers are installed, and on machines that nothing was
published for.
"""
import argparse
import sys

import layout
import machine
import published
import run_table

FLOOR = 0.7
ROWS = ("step-fp32-eager", "step-bf16-eager", "sample-fp32-1", "bpe-1")
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def measure(key, options):
    """Measures a row twice and returns the better result, because another process may have disturbed one of them."""
    title, peer, target, how = next(row[1:] for row in run_table.ROWS if row[0] == key)
    tries = [run_table.measure(title, peer, target, how, options) for _ in range(2)]
    return max(tries, key=lambda row: row.get("ratio", 0))


def check(key, wanted, row):
    """Returns a line about the row, and whether it passes."""
    if "ratio" not in row:
        return f"FAILED {key}: {row.get('failed') or row.get('missing')}", False
    floor = FLOOR * wanted
    words = f"{key}: {row['ratio']:.2f}x, published {wanted:.2f}x, floor {floor:.2f}x"
    return (f"ok {words}", True) if row["ratio"] >= floor else (f"FAILED {words}", False)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not layout.PEERS_PYTHON.exists():
        skip("no peers; scripts/bootstrap --peers installs them")
    document = published.read(machine.slug())
    if document is None:
        skip(f"docs/benchmarks/{machine.slug()}.json does not exist: nothing was published for this machine")
    options = run_table.Options(quick=True, llmc=None, text=run_table.default_text())
    results = []
    for key in ROWS:
        row = document["rows"].get(key, {})
        if "ratio" in row:
            results.append(check(key, row["ratio"], measure(key, options)))
            print(results[-1][0], flush=True)
    if not results:
        skip("the published table has none of the gate's rows")
    sys.exit(0 if all(passed for _, passed in results) else 1)


if __name__ == "__main__":
    main()
