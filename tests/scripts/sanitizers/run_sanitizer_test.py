"""scripts/run_sanitizer on a small project of shell scripts, with the real CMake, Ninja and CTest."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import unittest
from unittest import mock

import sanitizer_case
import processes
import record

PRESETS = {"version": 6, "configurePresets": [
    {"name": name, "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"} for name in record.SANITIZERS]}
# A suite is "built" by copying a script; a source that contains "broken" fails to compile.
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
enable_testing()
file(WRITE "${CMAKE_BINARY_DIR}/compile_commands.json" "[{\\"command\\": \\"c++ -I${CMAKE_SOURCE_DIR}\\"}]")
file(WRITE "${CMAKE_BINARY_DIR}/unit_tests.txt" "")
foreach(name IN ITEMS a_test b_test c_test)
  set(source "${CMAKE_SOURCE_DIR}/${name}.cc")
  add_custom_command(OUTPUT "${name}.sh" DEPENDS "${source}" VERBATIM
    COMMAND sh -c "! grep broken ${source}" && ${CMAKE_COMMAND} -E copy "${source}" "${name}.sh")
  add_custom_target(${name} DEPENDS "${name}.sh")
  add_test(NAME ${name}.Case COMMAND sh "${name}.sh")
  set_tests_properties(${name}.Case PROPERTIES LABELS "unit;${name}" SKIP_RETURN_CODE 77)
  file(APPEND "${CMAKE_BINARY_DIR}/unit_tests.txt" "${name}\\n")
endforeach()
"""


class RunSanitizer(sanitizer_case.InFolder):
    def setUp(self):
        super().setUp()
        for name in ("scripts/run_sanitizer", "scripts/make_sanitizer_page", "scripts/run_tests"):
            (self.folder / "scripts").mkdir(exist_ok=True)
            shutil.copy(sanitizer_case.ROOT / name, self.folder / name)
        shutil.copytree(sanitizer_case.ROOT / "tests/sanitizers", self.folder / "tests/sanitizers",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "docs").mkdir()
        self.write("CMakePresets.json", json.dumps(PRESETS))
        self.write("CMakeLists.txt", PROJECT)
        for suite in ("a_test", "b_test", "c_test"):
            self.write(f"{suite}.cc", f"echo {suite}\n")
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
                            "GP_TEST_TOTALS": str(self.folder / "totals"), "GP_TEST_FAILURES": str(self.folder / "failures")}

    def call(self, script, *arguments):
        return subprocess.run([self.folder / "scripts" / script, *arguments], env=self.environment, capture_output=True,
                              text=True, check=False)

    def sanitize(self, *arguments, status=0):
        done = self.call("run_sanitizer", "asan", *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def sanitize_until(self, suite, status):
        """Runs the script with a deadline that passes when it starts to test `suite`."""
        def run(command, *arguments, real=processes.run, **options):
            if command[-1] == suite:
                raise processes.OutOfTime
            return real(command, *arguments, **options)
        loader = importlib.machinery.SourceFileLoader("run_sanitizer", str(self.folder / "scripts/run_sanitizer"))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_sanitizer", loader))
        loader.exec_module(script)
        scratch, output = self.folder / "scratch", io.StringIO()
        scratch.mkdir()
        with (mock.patch.object(processes, "run", run), mock.patch.dict(os.environ, self.environment),
              contextlib.redirect_stdout(output)):
            self.assertEqual(script.run("asan", 60, scratch), status)
        return output.getvalue()

    def caller_files(self):
        return [pathlib.Path(self.environment[name]).read_text() for name in ("GP_TEST_TOTALS", "GP_TEST_FAILURES")]

    def test_without_a_budget_everything_runs(self):
        output = self.sanitize()
        self.assertIn("3 passed, 0 failed, 0 skipped\nasan: 3 of 3 suites ran", output)
        self.assertEqual(self.caller_files(), ["3 passed, 0 failed, 0 skipped\n", ""])

    def test_a_changed_suite_comes_first_and_one_that_failed_before_it(self):
        self.write("b_test.cc", "exit 1\n")
        self.sanitize(status=1)
        self.write("c_test.cc", "echo other\n")
        self.assertIn("3 suites, 2 of them new, changed or failed\n=== asan: b_test c_test a_test\n", self.sanitize(status=1))

    def test_a_failure_is_described_at_the_end_and_for_the_caller(self):
        self.write("b_test.cc", "echo out of bounds; exit 1\n")
        output = self.sanitize(status=1)
        failure = "failed: b_test.Case [b_test,unit]\n    out of bounds\n"
        self.assertIn(failure + "2 passed, 1 failed, 0 skipped\n", output)
        self.assertEqual(self.caller_files(), ["2 passed, 1 failed, 0 skipped\n", failure])

    def test_a_suite_that_does_not_build_is_a_failure_and_the_others_run(self):
        self.write("b_test.cc", "broken\n")
        output = self.sanitize(status=1)
        self.assertIn("failed: build of b_test [asan]\n", output)
        self.assertIn("2 passed, 1 failed, 0 skipped\n", output)

    def test_a_suite_whose_tests_skip_themselves_is_no_failure(self):
        self.write("b_test.cc", "echo needs AVX-512; exit 77\n")
        self.assertIn("skipped 1: b_test.Case: needs AVX-512\n", self.sanitize())

    def test_a_suite_without_tests_is_a_failure(self):
        self.write("CMakeLists.txt", PROJECT.replace("unit;${name}", "unit"))
        self.assertIn("failed: tests of a_test [asan]\n    CTest found none\n", self.sanitize(status=1))

    def test_what_does_not_fit_is_listed_with_its_last_run_and_is_no_failure(self):
        self.sanitize()
        self.write("a_test.cc", "echo other\n")
        self.write("c_test.cc", "echo another\n")
        output = self.sanitize_until("c_test", status=0)
        self.assertRegex(output, r"1 passed, 0 failed, 0 skipped\n"
                         r"did not fit: c_test, last ran \d{4}-\d\d-\d\d \d\d:\d\d UTC at \w+, has changed since\n"
                         r"did not fit: b_test, last ran \d{4}-\d\d-\d\d \d\d:\d\d UTC at \w+\n"
                         r"asan: 1 of 3 suites ran")

    def test_a_budget_in_which_nothing_runs_is_a_failure(self):
        output = self.sanitize_until("a_test", status=1)
        self.assertIn("0 passed, 1 failed, 0 skipped\ndid not fit: a_test, never ran\n", output)
        self.assertIn("failed: time for one suite [asan]\n", self.caller_files()[1])
        self.call("make_sanitizer_page")
        self.assertEqual(record.read_page(self.folder)["asan"].suites, ["a_test", "b_test", "c_test"])

    def test_a_budget_that_is_over_before_the_first_build_is_a_failure(self):
        done = self.call("run_sanitizer", "asan", "--minutes", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("give more --minutes", done.stderr)

    def test_the_page_shows_runs_of_this_machine(self):
        self.sanitize()
        done = self.call("make_sanitizer_page")
        self.assertIn("asan: 3 of 3 suites ran, the first ", done.stdout)
        runs = record.read_page(self.folder)["asan"].runs
        self.assertEqual([suite for suite, run in runs.items() if run.passed], ["a_test", "b_test", "c_test"])


if __name__ == "__main__":
    unittest.main()
