#!/usr/bin/python3
"""If a program cannot write to its standard output, it exits with code 1 and an error message. If the reader merely closed the
pipe, there is no message.

lost_output_test.py PROGRAM...      names of programs in $GP_BIN
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["GP_BIN"])
PROGRAMS = sys.argv[1:]
DAEMONS = {"gp-coordinator", "gp-worker", "gp-gateway"}
FULL = "cannot write to standard output: No space left on device"
CLOSED = "cannot write to standard output: Bad file descriptor"


def prints_of(name):
    """Argument lists with which the program prints something and exits."""
    prints = [["--help"]] + ([["version"]] if name == "gpctl" else [["--version"]])
    if name in DAEMONS:
        prints += [["--print-metrics"], ["--explain", "all"]]
    if name == "gp-coordinator":
        prints.append(["--check-config", "--state-dir", "/nowhere", "--storage-root", "/nowhere"])
    if name == "gpctl":
        prints += [["init", "--preset", "tiny"], ["explain", "run"], ["help", "exit-codes"], ["list", "--help"], ["bench", "--help"]]
    if name.startswith("gp-bench"):
        prints += [["plan"], ["plan", "-o", "json"]]
    if name.startswith("gp-trainer"):
        prints.append(["--support"])
    return prints


HOME = tempfile.TemporaryDirectory()


def run(name, arguments, stdout):
    environment = {**os.environ, "HOME": HOME.name}
    return subprocess.run([BIN / name, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120, env=environment,
                          check=False)


# Case runs-and-service/47: the exit code was 0 although output could not be written.
class LostOutputTest(unittest.TestCase):
    CASES = [(name, arguments) for name in PROGRAMS for arguments in prints_of(name)]

    def test_a_full_device_is_an_error(self):
        with open("/dev/full", "wb", buffering=0) as full:
            for name, arguments in self.CASES:
                with self.subTest(program=name, arguments=arguments):
                    done = run(name, arguments, full)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertEqual(done.stderr.count(FULL), 1, done.stderr)

    def test_a_closed_pipe_is_quiet(self):
        reader, writer = os.pipe()
        os.close(reader)
        for name, arguments in self.CASES:
            with self.subTest(program=name, arguments=arguments):
                done = run(name, arguments, writer)
                self.assertEqual((done.returncode, done.stderr), (1, ""))

    def test_a_closed_descriptor_is_an_error(self):
        for name, arguments in self.CASES:
            with self.subTest(program=name, arguments=arguments):
                done = run("/bin/sh", ["-c", 'exec "$@" >&-', "sh", BIN / name, *arguments], None)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(CLOSED, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
