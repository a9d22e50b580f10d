#!/usr/bin/env python3
"""Checks that no test quotes a message that the sources no longer print.

    scripts/check_quotes.py [--since COMMIT] [--root DIR]      default: the 50th commit before HEAD, or the first one

A quote is a string of a test with at least three words. If a string of the sources contained it in or near a place that
changed after COMMIT, and none contains it now, the test expects words that nothing prints: `file:line: ...`, exit status
1. Quotes that a test assembles from several strings are not checked.
"""

import argparse
import pathlib
import re
import subprocess
import sys

TESTS = "tests/"
TEST_PROGRAMS = "tests/bench/peer_bench/"  # a program; only its *_test.cc are tests
PROGRAMS = (".cc", ".h", ".cu", ".cuh", ".py", ".js", ".html", ".sh", "")  # "": scripts without a suffix
DEFAULT_DISTANCE = 50
CONTEXT = 5  # lines around a change: a string may go over several lines
MIN_WORDS = 3
# One string of C++ or Python, with its escapes.
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Two strings with only white space between them are one string.
SEAM = re.compile(r'(?<!\\)"\s*\n\s*f?"')
ESCAPES = {r"\"": '"', r"\\": "\\", r"\n": "\n", r"\t": "\t"}


def git(root, *arguments):
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True).stdout


def is_test(path):
    return path.startswith(TESTS) and (not path.startswith(TEST_PROGRAMS) or path.endswith("_test.cc"))


def is_program(path):
    return not path.startswith(("docs/", ".")) and pathlib.PurePosixPath(path).suffix in PROGRAMS


def first_of_the_last(root, distance):
    """The commit that stands `distance` commits before HEAD, or the first of all."""
    return git(root, "rev-list", f"--max-count={distance + 1}", "HEAD").decode().split()[-1]


def replaced_sources(root, commit):
    """The old strings of programs outside tests/ in or near the places that changed since the commit, one per line."""
    changes = ["-p", f"--unified={CONTEXT}", "--no-color", "--no-ext-diff"]
    outside = ["--", ".", f":!{TESTS}"]
    text = git(root, "log", "--format=", *changes, f"{commit}..HEAD", *outside) + git(root, "diff", *changes, "HEAD", *outside)
    old = []
    wanted = False
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith("--- "):
            wanted = line.startswith("--- a/") and is_program(line[len("--- a/"):])
        elif wanted and line.startswith((" ", "-")):
            old.append(line[1:])
    return "\n".join(joined(found.group(1)) for found in STRING.finditer(SEAM.sub("", "\n".join(old))))


def tracked(root):
    names = git(root, "ls-files", "-z").decode().split("\0")
    return [name for name in names if name and is_program(name) and (root / name).is_file()]


def joined(text):
    """The text with adjacent strings joined and escapes resolved."""
    text = SEAM.sub("", text)
    return re.sub(r'\\["\\nt]', lambda escape: ESCAPES[escape.group()], text)


def quotes_of(text):
    """(line, quote) for each string of a test that has enough words to be a message."""
    for found in STRING.finditer(SEAM.sub(lambda seam: "\0" * seam.group().count("\n"), text)):
        quote = joined(found.group(1)).replace("\0", "").strip()
        if len(quote.split()) >= MIN_WORDS:
            yield text.count("\n", 0, found.start()) + 1, quote


def is_printed(quote, sources):
    return quote in sources or re.sub(r"\d+", "{}", quote) in sources


def stale_quotes(root, commit):
    """[(file, line, quote)] of the quotes that nothing prints any more."""
    files = tracked(root)
    now = joined("\n".join((root / name).read_text(encoding="utf-8", errors="replace")
                           for name in files if not is_test(name)))
    before = replaced_sources(root, commit)
    stale = []
    for name in files:
        if not is_test(name):
            continue
        for line, quote in quotes_of((root / name).read_text(encoding="utf-8", errors="replace")):
            if quote in before and not is_printed(quote, now):
                stale.append((name, line, quote))
    return stale


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--since", help=f"compare with this commit ({DEFAULT_DISTANCE} before HEAD)")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    commit = arguments.since or first_of_the_last(arguments.root, DEFAULT_DISTANCE)
    stale = stale_quotes(arguments.root, commit)
    for name, line, quote in stale:
        print(f"{name}:{line}: no source prints \"{quote}\" any more")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
