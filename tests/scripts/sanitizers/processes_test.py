"""A command ends at its deadline, together with everything that it started."""
import os
import subprocess
import sys
import time
import unittest
from unittest import mock

import sanitizer_case
import processes

# Starts a process in its own session, as a daemon would, writes its pid, and exits.
LEAVES_ONE = """
import subprocess, sys
left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(left.pid, file=open(sys.argv[1], "w"), flush=True)
"""
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"


class Run(sanitizer_case.InFolder):
    def setUp(self):
        super().setUp()
        processes.adopt_orphans()

    def assert_ended(self, pid_file):
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid_file.read_text()), 0)

    def test_answers_the_exit_status(self):
        self.assertEqual(processes.run(["sh", "-c", "exit 3"], None), 3)

    def test_what_a_command_leaves_is_ended(self):
        pid_file = self.folder / "pid"
        self.assertEqual(processes.run([sys.executable, "-c", LEAVES_ONE, pid_file], None), 0)
        self.assert_ended(pid_file)

    def test_a_command_under_way_is_ended_at_the_deadline(self):
        pid_file = self.folder / "pid"
        with self.assertRaises(processes.OutOfTime):
            processes.run(["sh", "-c", f"echo $$ > {pid_file}; sleep 1000 & wait"], time.monotonic() + 5)
        self.assert_ended(pid_file)
        self.assertEqual(processes.descendants(), [])

    def test_a_command_that_ignores_sigterm_is_killed(self):
        with mock.patch.object(processes, "END_SECONDS", 1), self.assertRaises(processes.OutOfTime):
            processes.run([sys.executable, "-c", STUBBORN], time.monotonic() + 2)
        self.assertEqual(processes.descendants(), [])

    def test_nothing_is_run_after_the_deadline(self):
        with self.assertRaises(processes.OutOfTime):
            processes.run(["sleep", "1000"], time.monotonic() - 1, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
