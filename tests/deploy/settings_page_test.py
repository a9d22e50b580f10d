#!/usr/bin/env python3
"""docs/operations/configure.md matches what the daemons print about each setting."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
BIN = pathlib.Path(os.environ["GP_BIN"])
DAEMONS = ("gp-coordinator", "gp-worker", "gp-gateway")
PAGE = SOURCE / "docs/operations/configure.md"
SAMPLES = {"gp-coordinator": "coordinator", "gp-worker": "worker", "gp-gateway": "gateway"}


def check(script, programs):
    return subprocess.run([script, "--bin", programs, "--check"], capture_output=True, text=True)


class SettingsPage(unittest.TestCase):
    def test_is_what_the_daemons_explain(self):
        result = check(SOURCE / "scripts/make_settings_page", BIN)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_page_that_differs_is_found(self):
        with tempfile.TemporaryDirectory() as copy:
            folder = pathlib.Path(copy)
            for path in ("scripts/make_settings_page", "scripts/settings_texts.py", "docs/operations/configure.md"):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / path, folder / path)
            page = folder / "docs/operations/configure.md"
            page.write_text(page.read_text().replace("| `10s` |", "| `11s` |", 1))
            result = check(folder / "scripts/make_settings_page", BIN)
        self.assertEqual(result.returncode, 1)
        self.assertIn("run scripts/make_settings_page", result.stderr)

    def test_every_key_of_the_settings_files_has_a_row(self):
        text = PAGE.read_text()
        for program in DAEMONS:
            part = text.split(f"## {program}\n")[1].split("\n## ")[0]
            rows = set(re.findall(r"^\| `([a-z_.]+)`<br>", part, re.MULTILINE))
            sample = (SOURCE / f"configs/{SAMPLES[program]}.yaml").read_text()
            groups = set(re.findall(r"^#? ?([a-z_]+):$", sample, re.MULTILINE))
            self.assertGreater(len(rows), 10, program)
            self.assertTrue(groups <= {key.split(".")[0] for key in rows}, (program, groups))


if __name__ == "__main__":
    unittest.main()
