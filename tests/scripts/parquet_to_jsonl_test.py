"""scripts/parquet_to_jsonl without pyarrow: a fake module returns what would be in a Parquet file."""
import fcntl
import gzip
import json
import os
import subprocess
import sys
import unittest

from parquet_to_jsonl_case import RECORD, SCRIPT, Converting

# The fake Parquet file is JSON with a list per column: {"text": [...]}.
STAND_IN = '''
import json
import pyarrow
class Type:
    def __init__(self, value):
        self.fields = [Field(name, inner) for name, inner in value.items()] if isinstance(value, dict) else []
        self.name = {str: "string", int: "int64", list: "list<element: string>", dict: "struct<...>"}.get(type(value), "null")
    def __iter__(self):
        return iter(self.fields)
    def __str__(self):
        return self.name
class Field:
    def __init__(self, name, value):
        self.name, self.type = name, Type(value)
class Scalar:
    def __init__(self, value):
        self.as_py = lambda: value
class Batch:
    def __init__(self, columns, begin):
        self.columns, self.begin = columns, begin
        self.num_rows = len(self.column(list(columns)[0]))
    def column(self, name):
        return [Scalar(value) for value in self.columns[name][self.begin:self.begin + 2]]
class MetaData:
    def __init__(self, rows):
        self.num_rows = rows
class ParquetFile:
    def __init__(self, file):
        text = file.read().decode()
        if not text.startswith("{"):
            raise pyarrow.ArrowException("no magic bytes")
        self.columns = json.loads(text)
        self.schema_arrow = [Field(name, next((v for v in values if v is not None), None))
                             for name, values in self.columns.items()]
        self.metadata = MetaData(max(map(len, self.columns.values())))
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def iter_batches(self, batch_size, columns):
        for begin in range(0, self.metadata.num_rows, 2):
            yield Batch(self.columns, begin)
            if "damage" in self.columns:
                raise pyarrow.ArrowException("a page is corrupt")
'''


class WithStandIn(Converting):
    def setUp(self):
        super().setUp()
        package = self.folder / "modules/pyarrow"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("class ArrowException(Exception):\n    pass\n")
        (package / "parquet.py").write_text(STAND_IN)
        self.environment["PYTHONPATH"] = str(package.parent)

    def file(self, name, *texts, **columns):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**({"text": texts} if texts else {}), **columns}))
        return path


class Text(WithStandIn):
    def test_every_row_is_a_line_in_the_order_of_the_files(self):
        result = self.good(self.file("a.parquet", "x", "\u00e9\n", "", id=[1, 2, 3]), self.file("b.parquet", "y"))
        self.assertEqual([json.loads(line)["text"] for line in result.stdout.splitlines()], ["x", "\u00e9\n", "", "y"])

    def test_a_null_row_is_refused_with_its_place_and_the_flag(self):
        self.assertIn("a.parquet: row 1: 'text' is null, expected text; --skip-null leaves such rows out",
                      self.convert(self.file("a.parquet", "x", None)).stderr)

    def test_skipped_null_rows_are_counted(self):
        result = self.good("--skip-null", self.file("a.parquet", "x", None, "y", None), self.file("b.parquet", None, "z"))
        self.assertEqual([json.loads(line)["text"] for line in result.stdout.splitlines()], ["x", "y", "z"])
        self.assertIn("a.parquet: 2 null rows left out", result.stderr)
        self.assertIn("3 null rows left out in all", result.stderr)
        self.assertIn("0 null rows left out in all", self.good("--skip-null", self.file("c.parquet", "x")).stderr)

    def test_a_dotted_column_reads_a_field_and_its_absence_is_null(self):
        path = self.file("a.parquet", meta=[{"text": "x", "source": {"name": "n"}}, None])
        result = self.good(path, "--column", "meta.text", "--skip-null")
        self.assertEqual(result.stdout, '{"text": "x"}\n')
        self.assertIn("1 null rows", result.stderr)
        self.assertIn('"n"', self.good(path, "--column", "meta.source.name", "--skip-null").stdout)
        self.assertIn("row 1: 'meta.text' is null", self.convert(path, "--column", "meta.text").stderr)

    def test_a_name_with_a_dot_is_found_before_a_field(self):
        path = self.file("a.parquet", **{"meta": [{"text": "in"}], "meta.text": ["top"]})
        self.assertEqual(self.good(path, "--column", "meta.text").stdout, '{"text": "top"}\n')

    def test_an_unknown_column_lists_those_that_are_there(self):
        path = self.file("a.parquet", id=[1], meta=[{"text": "x", "url": "u"}])
        self.assertIn("no column 'text'; --column may name one of id, meta.text, meta.url", self.refused(path))
        self.assertIn("has fields; --column may name one of meta.text, meta.url", self.refused(path, "--column", "meta"))
        self.assertIn("no column 'meta.txt'", self.refused(path, "--column", "meta.txt"))

    def test_a_column_that_is_no_text_is_refused_by_its_type(self):
        self.assertIn("column 'text' is int64, expected text", self.refused(self.file("a.parquet", 1)))
        self.assertIn("column 'text' is list<element: string>", self.refused(self.file("a.parquet", ["x"])))

    def test_a_reader_that_has_ended_is_told_without_a_traceback(self):
        path = self.file("a.parquet", *["x" * 1000] * 1000)
        writer = subprocess.Popen([sys.executable, SCRIPT, path], env=self.environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        writer.stdout.readline()
        writer.stdout.close()
        said = writer.stderr.read()
        writer.stderr.close()
        self.assertEqual(writer.wait(), 1)
        self.assertEqual(said, "parquet_to_jsonl: the program that reads standard output has ended\n")


class Addresses(WithStandIn):
    ADDRESSES = ("s3://bucket/folder", "gs://bucket/x", "http://host/a.parquet", "https://host/a.parquet",
                 "hf://datasets/owner/name/a.parquet", "abfss://container@account/x", "S3://bucket", "az://container/x")

    def test_an_output_that_is_an_address_is_refused_and_nothing_is_written(self):
        path = self.file("a.parquet", "x")
        for address in self.ADDRESSES:
            result = self.convert(path, "--out", address, cwd=self.folder)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(f"{address} is an address, not a path, and parquet_to_jsonl does not reach", result.stderr)
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["a.parquet", "modules"])

    def test_inputs_that_are_addresses_are_all_named(self):
        said = self.refused(self.file("a.parquet", "x"), *self.ADDRESSES, "--out", self.out)
        for address in self.ADDRESSES:
            self.assertIn(f"{address} is an address", said)
        self.assertEqual(self.outputs(), [])

    def test_an_address_of_a_file_names_its_path(self):
        self.assertIn("write only the path: /data/a.parquet", self.refused("file:///data/a.parquet"))

    def test_a_name_with_a_colon_is_a_path(self):
        self.good(self.file("s3:a.parquet", "x"), self.file("12:30//b.parquet", "y"), "--out", self.out)


class Footers(WithStandIn):
    def test_every_damaged_file_is_told_before_anything_is_written(self):
        (self.folder / "bad.parquet").write_text("damaged")
        (self.folder / "pointer.parquet").write_text("version https://git-lfs.github.com/spec/v1\n")
        (self.folder / "folder").mkdir()
        paths = [self.folder / name for name in ("bad.parquet", "pointer.parquet", "folder", "absent.parquet")]
        said = self.refused(self.file("a.parquet", "x"), *paths, "--out", self.out)
        for part in ("bad.parquet cannot be read as Parquet: no magic bytes; download or write it again",
                     "pointer.parquet is a Git LFS pointer", "git lfs pull", "folder is a folder; name its files",
                     "absent.parquet does not exist"):
            self.assertIn(part, said)
        self.assertEqual(self.outputs(), [])

    def test_the_same_file_twice_is_refused(self):
        path = self.file("a.parquet", "x")
        (self.folder / "link.parquet").symlink_to(path)
        self.assertIn("is named twice", self.refused(path, path))
        self.assertIn("is named twice", self.refused(path, self.folder / "link.parquet"))
        os.link(path, self.folder / "hard.parquet")
        self.assertIn("is named twice", self.refused(path, self.folder / "hard.parquet"))

    def test_a_file_without_rows_is_told_and_nothing_but_such_files_refused(self):
        empty = self.file("empty.parquet", text=[])
        self.assertIn("empty.parquet has no rows", self.good(empty, self.file("a.parquet", "x")).stderr)
        self.assertIn("the named files have no rows", self.refused(empty))

    def test_a_damaged_page_ends_with_the_rows_before_it_and_leaves_no_output(self):
        said = self.convert(self.file("a.parquet", "x", "y", "z", damage=[]), "--out", self.out).stderr
        self.assertIn("a.parquet: after row 2: a page is corrupt; the file is damaged", said)
        self.assertEqual(self.outputs(), ["a.jsonl.gz.partial"])


class Outputs(WithStandIn):
    def test_a_folder_gets_a_packed_file_for_each(self):
        self.good(self.file("a.parquet", "x"), self.file("b.snappy.parquet", "y"), "--out", self.out)
        with gzip.open(self.out / "a.jsonl.gz", "rt") as lines:
            self.assertEqual(lines.read(), '{"text": "x"}\n')
        self.assertEqual(self.outputs(), ["a.jsonl.gz", "b.snappy.jsonl.gz"])

    # Case models-and-data/06: if two files had the same name, the second overwrote the output of the first.
    def test_files_of_one_name_in_several_folders_have_the_folders_in_their_names(self):
        self.good(self.file("d/2013/000.parquet", "x"), self.file("d/2024/000.parquet", "y"),
                  self.file("d/2024/deep/000.parquet", "z"), "--out", self.out)
        self.assertEqual(self.outputs(), ["2013__000.jsonl.gz", "2024__000.jsonl.gz", "2024__deep__000.jsonl.gz"])
        self.assertEqual(self.texts("2024__000.jsonl.gz"), ["y"])

    def test_inputs_of_one_output_are_refused(self):
        said = self.refused(self.file("a__b/c.parquet", "x"), self.file("a/b__c.parquet", "y"), "--out", self.out)
        self.assertIn("would both be a__b__c.jsonl.gz; convert them in two calls", said)
        said = self.refused(self.file("x.parquet", "x"), self.file("x.pq", "y"), "--out", self.out)
        self.assertIn("would both be x.jsonl.gz", said)
        said = self.refused(self.file("y.parquet", "x"), self.file("Y.parquet", "y"), "--out", self.out)
        self.assertIn("would on some file systems both be Y.jsonl.gz", said)
        self.assertEqual(self.outputs(), [])

    def test_an_output_is_not_hidden_by_a_folder_that_is(self):
        self.good(self.file(".cache/a.parquet", "x"), self.file("b/a.parquet", "y"), "--out", self.out)
        self.assertEqual(self.outputs(), ["b__a.jsonl.gz", "cache__a.jsonl.gz"])

    def test_files_of_any_name_are_read(self):
        names = [os.fsdecode(b"caf\xe9.parquet"), "file:a.parquet", "a b.parquet", "s3:__x.parquet"]
        self.good(*(self.file(name, name[0]) for name in names), "--out", self.out)
        self.assertEqual(self.outputs(), sorted(name.replace(".parquet", ".jsonl.gz") for name in names))
        self.assertIn("4 of 4", self.good(*(self.folder / name for name in names), "--out", self.out).stderr)

    def test_a_file_is_no_output_folder(self):
        self.assertIn("is a file, expected a folder", self.refused(self.file("a.parquet", "x"), "--out", self.file("b", "y")))

    def test_a_name_too_long_is_told_before_anything_is_written(self):
        said = self.refused(self.file("a/" + "n" * 200 + "/" + "m" * 100 + ".parquet", "x"), self.file("b.parquet", "y"),
                            "--out", self.out)
        self.assertIn("is too long", said)
        self.assertEqual(self.outputs(), [])


class Repeating(WithStandIn):
    def inode(self, name):
        return (self.out / name).stat().st_ino

    def test_the_same_call_goes_on_where_it_was_interrupted(self):
        first, second = self.file("a.parquet", "x"), self.file("b.parquet", "y", None)
        self.assertEqual(self.convert(first, second, "--out", self.out).returncode, 1)
        done = self.inode("a.jsonl.gz")
        # The first file, converted without the flag, has no null rows, so its output is still valid.
        result = self.good(first, second, "--skip-null", "--out", self.out)
        self.assertIn("1 of 2 files are there already", result.stderr)
        self.assertEqual(self.inode("a.jsonl.gz"), done)
        self.assertEqual(self.texts("b.jsonl.gz"), ["y"])
        self.assertEqual(self.outputs(), ["a.jsonl.gz", "b.jsonl.gz"])
        self.assertIn("2 of 2 files are there already", self.good(first, second, "--skip-null", "--out", self.out).stderr)

    def test_what_an_interrupted_call_left_is_written_again(self):
        path = self.file("a.parquet", "x")
        self.out.mkdir()
        (self.out / "a.jsonl.gz.partial").write_bytes(b"longer than what will be there" * 9)
        self.good(path, "--out", self.out)
        self.assertEqual(self.texts("a.jsonl.gz"), ["x"])
        self.assertEqual(self.outputs(), ["a.jsonl.gz"])

    def test_a_later_call_with_more_folders_converts_only_those(self):
        first, second, third = (self.file(f"d/{n}/000.parquet", str(n)) for n in (1, 2, 3))
        self.good(first, "--out", self.out)
        self.good(first, second, "--out", self.out)
        self.assertEqual(self.outputs(), ["000.jsonl.gz", "2__000.jsonl.gz"])
        said = self.refused(third, "--out", self.out)
        self.assertIn(f"000.jsonl.gz is recorded for {first}, not for {third}; name both files in one call", said)
        self.good(first, third, "--out", self.out)
        self.assertEqual([self.texts(name) for name in self.outputs()], [["1"], ["2"], ["3"]])

    def test_a_relative_name_is_the_same_file(self):
        path = self.file("a.parquet", "x")
        self.good(path, "--out", self.out)
        self.assertIn("1 of 1", self.convert("a.parquet", "--out", "out", cwd=self.folder).stderr)

    def test_an_output_that_is_not_recorded_is_refused(self):
        self.out.mkdir()
        (self.out / "a.jsonl.gz").write_bytes(b"somebody's")
        said = self.refused(self.file("a.parquet", "x"), self.file("b.parquet", "y"), "--out", self.out)
        self.assertIn("a.jsonl.gz is there, but is not recorded", said)
        self.assertIn("remove it, or give --out another folder", said)
        self.assertEqual(self.outputs(), ["a.jsonl.gz"])

    def test_an_output_of_a_file_that_changed_since_is_refused(self):
        self.good(self.file("a.parquet", "x"), "--out", self.out)
        path = self.file("a.parquet", "x", "more")
        said = self.refused(path, "--out", self.out)
        self.assertIn("a.parquet before that was changed (15 bytes then, 23 now); remove it", said)
        (self.out / "a.jsonl.gz").unlink()
        self.good(path, "--out", self.out)
        self.assertEqual(self.texts("a.jsonl.gz"), ["x", "more"])

    def test_an_output_made_with_other_options_is_refused(self):
        path = self.file("a.parquet", "x", None, other=["y", "z"])
        self.good(path, "--skip-null", "--out", self.out)
        self.assertIn("was made with --skip-null; give --skip-null again", self.refused(path, "--out", self.out))
        self.assertIn("holds column 'text' of", self.refused(path, "--column", "other", "--out", self.out))

    def test_a_damaged_or_newer_record_is_refused(self):
        path = self.file("a.parquet", "x")
        self.out.mkdir()
        for record, said in (("", "is damaged"), ("[]", "is damaged"), ('{"version": 1, "outputs": 3}', "is damaged"),
                             ('{"version": 2}', "has version 2, expected 1; give --out another folder")):
            (self.out / RECORD).write_text(record)
            self.assertIn(said, self.refused(path, "--out", self.out))
            self.assertEqual(self.outputs(), [])

    def test_a_file_that_another_call_writes_is_left_to_it(self):
        path = self.file("a.parquet", "x")
        self.out.mkdir()
        with open(self.out / "a.jsonl.gz.partial", "wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.assertIn("is being written by another call", self.refused(path, "--out", self.out))
        self.good(path, "--out", self.out)

    def test_calls_at_once_record_every_file(self):
        paths = [self.file(f"{number}.parquet", str(number)) for number in range(6)]
        calls = [subprocess.Popen([sys.executable, SCRIPT, path, "--out", self.out], env=self.environment) for path in paths]
        self.assertEqual([call.wait() for call in calls], [0] * 6)
        self.assertEqual(len(json.loads((self.out / RECORD).read_text())["outputs"]), 6)
        self.assertIn("6 of 6 files are there already", self.good(*paths, "--out", self.out).stderr)


class WithoutPyArrow(Converting):
    def test_its_absence_is_told(self):
        (self.folder / "pyarrow.py").write_text("raise ImportError\n")
        self.environment["PYTHONPATH"] = str(self.folder)
        self.assertIn("pyarrow is not installed; see --help", self.refused("a.parquet"))


if __name__ == "__main__":
    unittest.main()
