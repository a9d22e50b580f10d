"""A demo with --chaos trains to its end although a worker is killed, another paused and the coordinator killed; it says what
happened, no step is missing, and nothing is left running. Interrupted after its first fault it leaves nothing either."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from demo_interrupt_test import processes_of

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
SECONDS_MAX = 400


class Chaos(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gp-chaos-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 20000, encoding="utf-8")
        self.environment = {**os.environ, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")}

    def demo(self, minutes):
        return subprocess.Popen([PROGRAMS / "gpctl", "demo", "--chaos", "--minutes", str(minutes), "--text",
                                 self.home / "text.txt", "--state-dir", self.home / "state"], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_the_run_goes_on_and_the_end_says_what_happened(self):
        with self.demo(0.5) as demo:
            text = demo.communicate(timeout=SECONDS_MAX)[0]
        print(text)
        self.assertEqual(demo.returncode, 0)
        told = text[text.index("What happened"):]
        for fault in (r"killed a worker \(process \d+\) +next step after \S+ m?s; the run goes on with 3 of 4 ranks",
                      r"paused a worker \(process \d+\) +next step after \S+ m?s; the run goes on with 2 of 4 ranks",
                      r"killed the coordinator \(process \d+\) +next step after \S+ m?s; training did not wait for it"):
            self.assertTrue(re.search(fault, told), fault)
        self.assertIn("0 of ", told)
        self.assertIn("; 0 steps taken again from a checkpoint; 3 groups of ranks\n", told)
        self.assertLess(len(told.splitlines()), 24, "it does not fit on a screen")
        self.assertEqual(processes_of(self.home), [])

    def test_interrupted_after_a_fault_it_leaves_nothing(self):
        with self.demo(2) as demo:
            for line in demo.stdout:
                if "killed a worker" in line:
                    demo.send_signal(signal.SIGINT)
                    break
            rest = demo.communicate(timeout=SECONDS_MAX)[0]
        self.assertEqual(demo.returncode, 130, rest)
        self.assertEqual(processes_of(self.home), [])
        self.assertFalse((self.home / "state").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
