"""scripts/parquet_to_jsonl with pyarrow: Parquet's types, and damaged files."""
import json
import os
import sys
import unittest

from parquet_to_jsonl_case import Converting

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    print("pyarrow is not installed")
    sys.exit(77)


class ParquetTypes(Converting):
    def file(self, name, kind, *values):
        pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array(values, kind)}), self.folder / name)
        return self.folder / name

    def test_every_type_that_holds_text_is_read(self):
        large = pyarrow.large_string()
        for kind in (pyarrow.string(), large, pyarrow.string_view(), pyarrow.dictionary(pyarrow.int32(), large),
                     pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()):
            values = [text.encode() if "binary" in str(kind) else text for text in ("\u00e9", "b", "\u00e9")]
            lines = self.good(self.file("a.parquet", kind, *values)).stdout.splitlines()
            self.assertEqual([json.loads(line)["text"] for line in lines], ["\u00e9", "b", "\u00e9"], str(kind))

    def test_bytes_that_are_not_utf8_are_refused_with_their_place(self):
        said = self.convert(self.file("a.parquet", pyarrow.binary(), b"good", b"caf\xe9")).stderr
        self.assertIn("a.parquet: row 1: 'text' is not UTF-8 at its byte 3", said)
        self.assertNotIn("Traceback", said)

    def test_types_without_text_and_columns_of_nulls_are_refused(self):
        self.assertIn("is fixed_size_binary[2], expected text", self.refused(self.file("a.parquet", pyarrow.binary(2), b"ab")))
        self.assertIn("is list<element: string>", self.refused(self.file("a.parquet", pyarrow.list_(pyarrow.string()), ["a"])))
        self.assertIn("is timestamp[us]", self.refused(self.file("a.parquet", pyarrow.timestamp("us"), 1)))
        self.assertIn("row 0: 'text' is null", self.refused(self.file("a.parquet", pyarrow.null(), None)))

    def test_two_columns_of_one_name_are_refused(self):
        path = self.folder / "a.parquet"
        pyarrow.parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array(["x"])] * 2, ["text", "text"]), path)
        self.assertIn("has several columns 'text'", self.refused(path))

    def test_a_field_of_a_nested_column_is_read(self):
        inner = pyarrow.struct([("text", pyarrow.string()), ("id", pyarrow.int64())])
        path = self.file("a.parquet", inner, {"text": "x", "id": 1}, None)
        self.assertEqual(self.good(path, "--column", "text.text", "--skip-null").stdout, '{"text": "x"}\n')

    def test_names_that_are_no_addresses_and_no_utf8_are_read(self):
        for name in (os.fsdecode(b"caf\xe9.parquet"), "file:a.parquet", "s3:x.parquet"):
            self.assertEqual(self.good(self.file("a.parquet", pyarrow.string(), "x").rename(self.folder / name)).stdout,
                             '{"text": "x"}\n')

    def test_a_file_cut_short_anywhere_is_an_error_in_words(self):
        whole = self.file("a.parquet", pyarrow.string(), *("text" * n for n in range(50))).read_bytes()
        for size in range(0, len(whole), len(whole) // 7):
            (self.folder / "cut.parquet").write_bytes(whole[:size])
            self.assertIn("cannot be read as Parquet", self.refused(self.folder / "cut.parquet"))

    def test_a_damaged_page_is_an_error_in_words(self):
        path = self.file("a.parquet", pyarrow.string(), *(str(n) * 99 for n in range(500)))
        damaged = bytearray(path.read_bytes())
        damaged[100:1000] = bytes(900)
        path.write_bytes(damaged)
        said = self.convert(path).stderr
        self.assertIn("the file is damaged", said)
        self.assertNotIn("Traceback", said)


if __name__ == "__main__":
    unittest.main()
