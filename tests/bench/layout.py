"""Paths in a source tree that was built."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS_PYTHON = ROOT / ".deps/peers/bin/python"
PEERS = ROOT / "tests/bench/peers"
PUBLISHED = ROOT / "docs/benchmarks"


PROGRAMS = pathlib.Path(os.environ.get("GP_BIN", ROOT / "build/release/bin")).resolve()


def program(name):
    """The path of a built program, from $GP_BIN or the release build."""
    path = PROGRAMS / name
    if not path.exists():
        raise RuntimeError(f"{path} is missing; build it with 'make build'")
    return path


def test_program(name):
    """The path of a program that is built only for tests."""
    path = PROGRAMS.parent / "tests" / name
    if not path.exists():
        raise RuntimeError(f"{path} is missing; build it with 'make build'")
    return path
