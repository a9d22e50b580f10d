"""A sanitizer preset's build tree: configures it, builds suites and runs their tests, until a deadline."""
import os
import subprocess

import content
import processes

LISTS = {"asan": "unit_tests.txt", "tsan": "threads_tests.txt"}  # in the build tree, written by cmake/Testing.cmake
LAST_LINES = 40  # number of lines that are printed when a build fails


class Stage:
    """Counts tests as scripts/run_tests does. `scratch` is a folder for logs and counts; `deadline` is of time.monotonic(),
    None for no deadline. Raises processes.OutOfTime if a command must be ended at the deadline."""

    def __init__(self, root, preset, deadline, scratch):
        self.root = root
        self.preset = preset
        self.tree = root / "build" / preset
        self.deadline = deadline
        self.build_log = scratch / "build.log"
        self.totals = scratch / "totals"
        self.failures = scratch / "failures"
        self.totals.touch()
        self.failures.touch()

    def configure(self):
        command = ["cmake", "--preset", self.preset, "--log-level=WARNING"]
        return processes.run(command, self.deadline, cwd=self.root, stdout=subprocess.DEVNULL) == 0

    def contents(self):
        """{suite: digest of its content}; suites that need the fewest compilations come first."""
        known = content.Contents(self.root, content.include_folders(self.tree))
        suites = (self.tree / LISTS[self.preset]).read_text(encoding="utf-8").split()
        inputs = {suite: content.inputs_of(self.tree, suite) for suite in suites}
        suites.sort(key=lambda suite: sum(file.suffix == ".o" for file in inputs[suite]))
        return {suite: known.digest(inputs[suite]) for suite in suites}

    def build(self, suites):
        print(f"=== {self.preset}: {' '.join(suites)}", flush=True)
        command = ["cmake", "--build", str(self.tree), "-j", str(os.cpu_count()), "--target", *suites, "--", "--quiet"]
        with open(self.build_log, "w", encoding="utf-8") as log:
            return processes.run(command, self.deadline, stdout=log, stderr=subprocess.STDOUT) == 0

    def test(self, suite):
        """Whether no test failed. It is no failure if all tests skip themselves."""
        before = self.count()
        environment = {**os.environ, "GP_TEST_TOTALS": str(self.totals), "GP_TEST_FAILURES": str(self.failures)}
        processes.run([self.root / "scripts/run_tests", "--preset", self.preset, "--labels", suite], self.deadline,
                      env=environment)
        if self.count() == before:
            self.add_failure(f"tests of {suite}", ["CTest found none"])
            return False
        return self.count()[1] == before[1]

    def report_build(self, suite):
        """Counts a suite whose build failed as one failed test, with the end of the build log."""
        log = self.build_log.read_text(encoding="utf-8", errors="replace")
        print(log, end="")
        self.add_failure(f"build of {suite}", log.splitlines()[-LAST_LINES:])

    def add_failure(self, what, lines):
        """Counts one failed test; `lines` are the reason."""
        append(self.failures, f"failed: {what} [{self.preset}]\n" + "".join(f"    {line}\n" for line in lines))
        append(self.totals, "0 passed, 1 failed, 0 skipped\n")

    def count(self):
        """The numbers of tests that passed, failed and were skipped so far."""
        lines = [line.split()[::2] for line in self.totals.read_text(encoding="utf-8").splitlines()]
        return [sum(int(line[column]) for line in lines) for column in range(3)]

    def summarize(self):
        """Prints failures and totals, and appends them to the caller's files as scripts/run_tests does."""
        passed, failed, skipped = self.count()
        failures = self.failures.read_text(encoding="utf-8")
        totals = f"{passed} passed, {failed} failed, {skipped} skipped\n"
        print(failures + totals, end="")
        for variable, text in (("GP_TEST_TOTALS", totals), ("GP_TEST_FAILURES", failures)):
            if variable in os.environ:
                append(os.environ[variable], text)


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
