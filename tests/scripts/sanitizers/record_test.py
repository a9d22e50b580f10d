"""The page and the machine's record hold the last run of each suite."""
import contextlib
import io
import os
import subprocess
import unittest
from unittest import mock

import sanitizer_case
import record

OLD = record.Run("2026-01-01 10:00", "c0ffee00", "0123456789ab", 12, True)
NEW = record.Run("2026-01-02 09:00", "deadbeef", "ba9876543210", 3, False)


class Page(unittest.TestCase):
    def test_what_is_written_is_read_again(self):
        records = {"asan": record.Record(["a_test", "b_test", "c_test"], {"a_test": OLD, "c_test": NEW}),
                   "tsan": record.Record(["a_test"], {"a_test": NEW})}
        self.assertEqual(record.parse_page(record.format_page(records)), records)

    def test_a_suite_that_never_ran_is_listed(self):
        records = {**record.empty_records(), "asan": record.Record(["b_test"], {})}
        self.assertIn("| b_test | never |", record.format_page(records))

    def test_the_page_of_the_project_is_as_it_would_be_written(self):
        page = (sanitizer_case.ROOT / record.PAGE).read_text(encoding="utf-8")
        self.assertEqual(record.format_page(record.parse_page(page)), page)


class Merge(unittest.TestCase):
    def test_the_later_run_counts(self):
        for page, local in ((OLD, NEW), (NEW, OLD)):
            merged = record.merge(record.Record(["a"], {"a": page}), record.Record(["a"], {"a": local}))
            self.assertEqual(merged.runs, {"a": NEW})

    def test_suites_that_are_gone_leave_the_page_and_new_ones_enter_it(self):
        merged = record.merge(record.Record(["gone"], {"gone": OLD}), record.Record(["new"], {}))
        self.assertEqual(merged.suites, ["new"])

    def test_without_a_run_on_this_machine_the_page_stays_as_it_is(self):
        page = record.Record(["a", "b"], {"a": OLD})
        self.assertEqual(record.merge(page, record.Record([], {})), page)


class Local(sanitizer_case.InFolder):
    def setUp(self):
        super().setUp()
        environment = mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"))
        environment.start()
        self.addCleanup(environment.stop)

    def read(self):
        complaint = io.StringIO()
        with contextlib.redirect_stderr(complaint):
            return record.read_local(record.local_path()), complaint.getvalue()

    def test_a_run_that_is_added_is_found_by_the_next_one(self):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        with contextlib.redirect_stderr(io.StringIO()):
            runs = record.Runs(self.folder, "asan")
        runs.set_suites(["b", "a"])
        runs.add("a", "0123456789ab", 12.4, True)
        run = record.Runs(self.folder, "asan").last["a"]
        self.assertEqual((run.content, run.seconds, run.passed), ("0123456789ab", 12, True))
        self.assertEqual(self.read()[0]["asan"].suites, ["a", "b"])
        self.assertEqual([file.name for file in record.local_path().parent.iterdir()], ["sanitizer_runs.json"])

    def test_a_missing_record_is_ignored_and_said(self):
        records, complaint = self.read()
        self.assertEqual(records, record.empty_records())
        self.assertIn("does not exist yet", complaint)

    def test_a_damaged_record_is_ignored_and_said(self):
        record.write_local(record.local_path(), {"asan": record.Record(["a"], {"a": OLD})})
        whole = record.local_path().read_text(encoding="utf-8")
        texts = [whole[:60], "[]", '{"asan": 3}', '{"asan": {"suites": [], "runs": {"a": {"when": "never"}}}}']
        for text in texts:
            record.local_path().write_text(text, encoding="utf-8")
            records, complaint = self.read()
            self.assertEqual(records, record.empty_records(), text)
            self.assertIn("cannot be read and is ignored", complaint)


if __name__ == "__main__":
    unittest.main()
