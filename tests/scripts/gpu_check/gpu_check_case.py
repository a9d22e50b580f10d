"""Shared by the tests of scripts/gpu_check: makes its modules importable, and gives each test a folder and a build tree."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/gpu_check"
sys.path[:0] = [str(ROOT / "tests/bench/gpu_check"), str(ROOT / "tests/bench/peers")]

import package  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)

    def check(self, *arguments, script=SCRIPT):
        done = subprocess.run([sys.executable, str(script), *map(str, arguments)], capture_output=True, text=True, check=False,
                              cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def make_build(self, program=shutil.which("true")):
        """A fake build tree in which every program is a copy of `program`."""
        build = self.folder / "build"
        names = [f"bin/{name}" for name in package.PROGRAMS] + ["tests/kernels_test", "tests/backend_test"]
        for name in names:
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(program, build / name)
        (build / "gpu_tests.txt").write_text("kernels_test\nbackend_test\n")
        return build
