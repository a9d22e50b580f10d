"""scripts/run_tests counts the tests in CTest's report, prints why tests were skipped, and fails if none ran."""

import importlib.machinery
import importlib.util
import os
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_run_tests():
    loader = importlib.machinery.SourceFileLoader("run_tests", str(ROOT / "scripts" / "run_tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


run_tests = load_run_tests()

REPORT = """<testsuite>
  <testcase name="A.Passes" status="run"><system-out>fine</system-out></testcase>
  <testcase name="A.Fails" status="fail"><failure message=""/><system-out>{output}</system-out></testcase>
  <testcase name="A.Missing" status="notrun"><skipped message="{unable}"/></testcase>
  <testcase name="A.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] A.Skips
tests/a_test.cc:4: Skipped
needs a GPU
[  SKIPPED ] A.Skips (0 ms)</system-out></testcase>
  <testcase name="scripts.a" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>tmux is not installed</system-out></testcase>
</testsuite>""".replace("{unable}", "Unable to find executable: build/a_test").replace(
    "{output}", "\n".join(f"line {number}" for number in range(100)))


class RunTests(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml", delete=False) as file:
            file.write(REPORT)
        self.report = pathlib.Path(file.name)
        self.addCleanup(self.report.unlink)

    def test_counts_each_outcome(self):
        passed, failed, skipped = run_tests.read_report(self.report)
        self.assertEqual((passed, len(failed), len(skipped)), (1, 2, 2))

    def test_a_program_that_was_not_built_is_a_failure(self):
        self.assertIn(("A.Missing", ["Unable to find executable: build/a_test"]),
                      run_tests.read_report(self.report)[1])

    def test_a_failure_says_its_label_and_its_last_words(self):
        failed = run_tests.read_report(self.report)[1][:1]
        lines = run_tests.describe_failures(failed, {"A.Fails": "unit"}).splitlines()
        self.assertEqual(lines[0], "failed: A.Fails [unit]")
        self.assertEqual((lines[1], lines[-1], len(lines)), ("    line 60", "    line 99", 41))

    def test_failures_go_to_the_file_that_the_environment_names(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GP_TEST_FAILURES"] = folder + "/failures"
            self.addCleanup(os.environ.pop, "GP_TEST_FAILURES")
            run_tests.append("GP_TEST_FAILURES", "failed: A.Fails [unit]\n")
            self.assertEqual(pathlib.Path(folder, "failures").read_text("utf-8"),
                             "failed: A.Fails [unit]\n")

    def test_skips_carry_their_own_words(self):
        skipped = run_tests.read_report(self.report)[2]
        self.assertEqual(skipped, [("A.Skips", "needs a GPU"),
                                   ("scripts.a", "tmux is not installed")])


if __name__ == "__main__":
    unittest.main()
