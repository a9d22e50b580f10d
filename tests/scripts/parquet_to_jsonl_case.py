"""The base class of the tests of scripts/parquet_to_jsonl."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["GP_SOURCE"]) / "scripts/parquet_to_jsonl"
RECORD = ".parquet_to_jsonl.json"


class Converting(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.out = self.folder / "out"
        self.environment = dict(os.environ)

    def convert(self, *arguments, cwd=None):
        return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], env=self.environment, cwd=cwd,
                              capture_output=True, text=True, check=False)

    def good(self, *arguments):
        result = self.convert(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, *arguments):
        """Expects a refusal before anything is written; returns the message."""
        result = self.convert(*arguments)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertNotIn("Traceback", result.stderr)
        return result.stderr

    def texts(self, name):
        with gzip.open(self.out / name, "rt") as lines:
            return [json.loads(line)["text"] for line in lines]

    def outputs(self):
        return sorted(path.name for path in self.out.iterdir() if path.name != RECORD) if self.out.exists() else []
