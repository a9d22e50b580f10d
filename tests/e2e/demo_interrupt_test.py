"""A demo that is interrupted with Ctrl-C leaves nothing: no process, no file, no context. A service that was there stays."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
SECONDS_MAX = 120


def processes_of(folder):
    """The command lines of the processes that name the folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and "demo_interrupt_test" not in line:
            found.append(line)
    return found


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gp-demo-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.state = self.home / "state"
        (self.home / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 20000, encoding="utf-8")
        self.environment = {**os.environ, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")}

    def gpctl(self, *arguments):
        return subprocess.run([PROGRAMS / "gpctl", *arguments, "--state-dir", self.state], env=self.environment, check=False,
                              capture_output=True, text=True, timeout=SECONDS_MAX)

    def interrupt_demo_at(self, word):
        """Interrupts a demo once it prints the word; gives its exit status."""
        demo = subprocess.Popen([PROGRAMS / "gpctl", "demo", "--minutes", "5", "--text", self.home / "text.txt",
                                 "--state-dir", self.state], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        with demo:
            for line in demo.stdout:
                if word in line:
                    demo.send_signal(signal.SIGINT)
                    break
            demo.stdout.read()
            return demo.wait(SECONDS_MAX)

    def test_leaves_nothing_when_it_is_interrupted_while_it_trains(self):
        self.assertEqual(self.interrupt_demo_at("step "), 130)
        self.assertFalse(self.state.exists(), list(self.state.rglob("*"))[:5] if self.state.exists() else "")
        self.assertEqual(processes_of(self.home), [])
        config = self.home / "config" / "gpctl" / "config.yaml"
        self.assertNotIn(str(self.state), config.read_text(encoding="utf-8") if config.exists() else "")

    def test_keeps_a_service_that_was_there(self):
        self.assertEqual(self.gpctl("up", "--detach", "--no-gateway").returncode, 0)
        self.addCleanup(self.gpctl, "down", "--purge", "--yes", "--now")
        self.assertEqual(self.interrupt_demo_at("coordinator "), 130)
        listed = self.gpctl("list", "-a")
        self.assertEqual(listed.returncode, 0, listed.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
