"""scripts/parquet_to_jsonl without pyarrow: a stand-in gives what a Parquet file would."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["GP_SOURCE"]) / "scripts/parquet_to_jsonl"

# The file holds a list of columns: {"text": [...]}.
STAND_IN = '''
import json
class Column(list):
    def to_pylist(self):
        return self
class Batch:
    def __init__(self, values):
        self.values = values
    def column(self, index):
        return Column(self.values)
class Schema:
    def __init__(self, names):
        self.names = names
class ParquetFile:
    def __init__(self, path):
        self.columns = json.load(open(path))
        self.schema_arrow = Schema(list(self.columns))
    def iter_batches(self, batch_size, columns):
        values = self.columns[columns[0]]
        for begin in range(0, len(values), 2):
            yield Batch(values[begin:begin + 2])
'''


class ParquetToJsonl(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.directory.name)
        (self.folder / "pyarrow").mkdir()
        (self.folder / "pyarrow/__init__.py").write_text("")
        (self.folder / "pyarrow/parquet.py").write_text(STAND_IN)

    def tearDown(self):
        self.directory.cleanup()

    def file(self, name, columns):
        (self.folder / name).write_text(json.dumps(columns))
        return str(self.folder / name)

    def convert(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        return subprocess.run([sys.executable, SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False)

    def test_every_row_is_a_line_in_the_order_of_the_files(self):
        result = self.convert(self.file("a.parquet", {"id": [1], "text": ["x", "\u00e9\n", ""]}), self.file("b.parquet", {"text": ["y"]}))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([json.loads(line)["text"] for line in result.stdout.splitlines()], ["x", "\u00e9\n", "", "y"])

    def test_a_folder_gets_a_packed_file_for_each(self):
        out = self.folder / "out"
        self.convert(self.file("a.parquet", {"text": ["x"]}), "--out", str(out))
        with gzip.open(out / "a.jsonl.gz", "rt") as lines:
            self.assertEqual(lines.read(), '{"text": "x"}\n')
        self.assertEqual([path.name for path in out.iterdir()], ["a.jsonl.gz"])

    def test_what_is_no_text_is_named(self):
        self.assertIn("it has id", self.convert(self.file("a.parquet", {"id": [1]})).stderr)
        self.assertIn("row 1: 'text' is no text", self.convert(self.file("a.parquet", {"text": ["x", None]})).stderr)


if __name__ == "__main__":
    unittest.main()
