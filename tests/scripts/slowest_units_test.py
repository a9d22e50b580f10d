"""scripts/slowest_units names sources, counts each output once, and explains what to do if there is no build."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "slowest_units"

LOG = """# ninja log v5
0\t9000\t0\tlib/base/CMakeFiles/gp_base.dir/log.cc.o\t1
0\t2000\t0\tlib/base/CMakeFiles/gp_base.dir/log.cc.o\t1
500\t4000\t0\tcoordinator/CMakeFiles/gp_store.dir/store/sqlite.cc.o\t2
4000\t4250\t0\tbin/gpctl\t3
"""


class SlowestUnits(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")

    def run_script(self, *arguments):
        return subprocess.run([self.root / "scripts" / "slowest_units", *arguments], check=False,
                              capture_output=True, text=True)

    def build(self, preset, log):
        (self.root / "build" / preset).mkdir(parents=True)
        (self.root / "build" / preset / ".ninja_log").write_text(log)

    def test_names_sources_slowest_first_and_takes_the_last_build_of_each(self):
        self.build("release", LOG)
        lines = self.run_script().stdout.splitlines()
        self.assertEqual(lines[0].split(), ["3.5", "s", "coordinator/store/sqlite.cc"])
        self.assertEqual(lines[1].split(), ["2.0", "s", "lib/base/log.cc"])
        self.assertIn("5.8 s  in 3 steps", lines[-1])

    def test_prints_as_many_as_asked(self):
        self.build("asan", LOG)
        units = self.run_script("--preset", "asan", "--count", "1").stdout.split("\n\n")[0]
        self.assertEqual(len(units.splitlines()), 1)

    def test_without_a_build_it_says_how_to_get_one(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("cmake --build build/release", done.stderr)


if __name__ == "__main__":
    unittest.main()
