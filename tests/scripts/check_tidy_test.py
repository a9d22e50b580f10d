"""scripts/check_tidy reports findings, remembers which files passed, and begins with the newest change."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_tidy"
GOOD = "int Twice(int value) { return 2 * value; }\n"
BAD = "int Twice(int value) {\n  if (value > 0); { value = 1; }\n  return 2 * value;\n}\n"


@unittest.skipUnless(shutil.which("clang-tidy-14") or shutil.which("clang-tidy"), "clang-tidy is not installed")
class CheckTidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name).resolve()
        (self.root / ".clang-tidy").write_text("Checks: '-*,bugprone-suspicious-semicolon'\n", encoding="utf-8")
        self.write("lib/good.cc", GOOD)
        self.write("lib/bad.cc", BAD)
        self.entries(["lib/good.cc", "lib/bad.cc"])

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def entries(self, names):
        commands = [{"directory": str(self.root), "file": str(self.root / name),
                     "command": f"/usr/bin/c++ -std=c++20 -o {name}.o -c {self.root / name}"} for name in names]
        self.write("build/release/compile_commands.json", json.dumps(commands))

    def check(self, *arguments):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.root / "cache")}
        done = subprocess.run([sys.executable, SCRIPT, "--root", self.root, "--jobs", "1", *arguments],
                              capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout + done.stderr

    def test_a_finding_is_printed_and_checked_again(self):
        for _ in range(2):
            status, output = self.check()
            self.assertEqual(status, 1, output)
            self.assertIn("lib/bad.cc:2:", output)
            self.assertIn("1 with findings", output)

    def test_what_passed_is_checked_again_only_when_it_changed(self):
        self.write("lib/bad.cc", GOOD)
        self.assertIn("2 sources checked", self.check()[1])
        self.assertIn("0 sources checked", self.check()[1])
        self.write("lib/good.h", "int Twice(int value);\n")
        self.assertIn("1 sources checked", self.check()[1])
        self.write(".clang-tidy", "Checks: '-*,bugprone-infinite-loop'\n")
        self.assertIn("2 sources checked", self.check()[1])

    def test_a_path_is_checked_whether_it_passed_or_not(self):
        self.assertEqual(self.check("lib/good.cc")[0], 0)
        self.assertIn("1 sources checked", self.check("lib/good.cc")[1])
        self.assertIn("2 sources checked", self.check("lib/")[1])
        status, output = self.check("lib/absent.cc")
        self.assertEqual(status, 1)
        self.assertIn("no source of the tree is lib/absent.cc", output)

    def test_sources_that_are_compiled_together_are_checked_one_by_one(self):
        self.write("build/release/unity/lib/all_0.cc", '#include "good.cc"\n#include "bad.cc"\n')
        self.entries(["build/release/unity/lib/all_0.cc"])
        status, output = self.check()
        self.assertEqual(status, 1, output)
        self.assertIn("2 sources checked", output)

    def test_what_did_not_fit_is_named(self):
        status, output = self.check("--minutes", "0")
        self.assertEqual(status, 0, output)
        self.assertIn("not checked, the time was up: lib/bad.cc", output)
        self.assertIn("0 sources checked", output)

    def test_the_newest_change_comes_first(self):
        git = ["git", "-C", str(self.root), "-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        for name in ("lib/bad.cc", "lib/good.cc"):
            subprocess.run([*git, "add", name], check=True)
            subprocess.run([*git, "commit", "-q", "-m", name], check=True)
        output = self.check("--minutes", "0")[1]
        self.assertLess(output.index("lib/good.cc"), output.index("lib/bad.cc"))

    def test_a_tree_that_is_not_configured_is_named(self):
        status, output = self.check("--preset", "absent")
        self.assertEqual(status, 1)
        self.assertIn("run cmake --preset absent", output)


if __name__ == "__main__":
    unittest.main()
