"""When each suite last ran under each sanitizer: the committed page docs/sanitizer-runs.md, and a record of this machine, which
also holds the runs of clones that no longer exist."""
import dataclasses
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

SANITIZERS = ("asan", "tsan")
PAGE = "docs/sanitizer-runs.md"
INTRODUCTION = """# Sanitizer runs

When each suite last ran under AddressSanitizer with UndefinedBehaviorSanitizer (`asan`) and under ThreadSanitizer (`tsan`). A
suite is one test program. `scripts/run_sanitizer` reads this page to decide which suites run first within the budgets of
`.ci/run`: failed ones, then those whose content differs from the one here, then those that have waited longest.
`scripts/make_sanitizer_page` writes it from the runs on a machine.

- content: digest of the sources that the program is built from, the project's libraries included. Comments, blank space,
  `#include` lines and names of files do not count. Neither do data files that a test reads.
- seconds: the suite's tests, and an equal share of the build of the suites that were built together.
"""
HEAD = "| suite | last ran (UTC) | commit | content | seconds | result |\n|---|---|---|---|---|---|\n"
ROW = re.compile(r"\| (\S+) \| (\d{4}-\d\d-\d\d \d\d:\d\d) \| (\w+) \| (\w+) \| (\d+) \| (passed|failed) \|")
NEVER = re.compile(r"\| (\S+) \| never \|")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a suite; `when` is in UTC, such as 2026-01-31 23:59."""
    when: str
    commit: str
    content: str
    seconds: int
    passed: bool


@dataclasses.dataclass
class Record:
    """The known suites of a sanitizer, and {suite: Run}, which includes suites that no longer exist."""
    suites: list
    runs: dict


def empty_records():
    return {sanitizer: Record([], {}) for sanitizer in SANITIZERS}


def local_path():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "gp" / "sanitizer_runs.json"


def read_local(path):
    """{sanitizer: Record} of this machine. An unreadable record counts as empty, which is reported."""
    try:
        return {**empty_records(), **parse_local(path.read_text(encoding="utf-8"))}
    except FileNotFoundError:
        reason = "does not exist yet"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"cannot be read and is ignored: {type(error).__name__}: {error}"
    print(f"{path}: this machine's record of sanitizer runs {reason}", file=sys.stderr)
    return empty_records()


def parse_local(text):
    return {sanitizer: Record(list(part["suites"]), {suite: Run(**run) for suite, run in part["runs"].items()})
            for sanitizer, part in json.loads(text).items()}


def write_local(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    text = json.dumps({sanitizer: dataclasses.asdict(record) for sanitizer, record in records.items()}, indent=1)
    scratch.write_text(text + "\n", encoding="utf-8")
    scratch.replace(path)


def read_page(root):
    """{sanitizer: Record} of the page of a checkout; empty if there is no page."""
    path = root / PAGE
    return parse_page(path.read_text(encoding="utf-8")) if path.exists() else empty_records()


def parse_page(text):
    records = empty_records()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        runs = {suite: Run(when, commit, content, int(seconds), result == "passed")
                for suite, when, commit, content, seconds, result in ROW.findall(part)}
        records[part.split("\n", 1)[0]] = Record(sorted({*runs, *NEVER.findall(part)}), runs)
    return records


def format_page(records):
    return INTRODUCTION + "".join(f"\n## {sanitizer}\n\n{HEAD}{''.join(rows(records[sanitizer]))}" for sanitizer in SANITIZERS)


def rows(record):
    for suite in sorted(record.suites):
        run = record.runs.get(suite)
        if run:
            result = "passed" if run.passed else "failed"
            yield f"| {suite} | {run.when} | {run.commit} | {run.content} | {run.seconds} | {result} |\n"
        else:
            yield f"| {suite} | never | | | | |\n"


def merge(page, local):
    """The later run of each suite. The list of suites is that of the machine's last run, if there was one."""
    runs = dict(page.runs)
    for suite, run in local.runs.items():
        if suite not in runs or run.when >= runs[suite].when:
            runs[suite] = run
    return Record(local.suites or page.suites, runs)


class Runs:
    """The last run of each suite of a sanitizer, from the page of a checkout and the record of this machine. New runs are added
    to the record of the machine."""

    def __init__(self, root, sanitizer):
        self.sanitizer = sanitizer
        self.commit = commit(root)
        self.path = local_path()
        self.local = read_local(self.path)
        self.last = merge(read_page(root)[sanitizer], self.local[sanitizer]).runs

    def set_suites(self, suites):
        self.local[self.sanitizer].suites = sorted(suites)
        write_local(self.path, self.local)

    def add(self, suite, content, seconds, passed):
        when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        self.local[self.sanitizer].runs[suite] = Run(when, self.commit, content, round(seconds), passed)
        write_local(self.path, self.local)


def commit(root):
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "--short=8", "HEAD"], check=False, capture_output=True,
                          text=True)
    return done.stdout.strip() or "unknown"
