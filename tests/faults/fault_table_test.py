"""docs/fault-table.md: each fault has its row, and each test that a row names exists. Tests are looked up in CTest's list of
the build tree; those of a program that is not built are looked up in the sources instead."""

import json
import os
import pathlib
import re
import subprocess
import sys

FAULTS = 48
ROW = re.compile(r"^\| (\d+) \|(.*)\|(.*)\|(.*)\|$")
NAME = re.compile(r"`([\w.]+)`")
# "Cpus/RegroupKills.TheOthersGoOn/4_ranks" of CTest is the test RegroupKills.TheOthersGoOn.
PARAMETERS = re.compile(r"^(?:\w+/)?(\w+\.\w+)(?:/.*)?$")
NOT_BUILT = re.compile(r"^\w+_NOT_BUILT")
GTEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def rows_of(page):
    """The rows by number: the text of the last column."""
    rows = {}
    for line in page.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        number = int(row.group(1))
        assert number not in rows, f"two rows have the number {number}"
        rows[number] = row.group(4).strip()
    return rows


def problems_of(page, known):
    """What is wrong with the table, if `known` are the tests that exist."""
    rows = rows_of(page)
    problems = [f"no row has the number {number}" for number in range(1, FAULTS + 1) if number not in rows]
    problems += [f"row {number}: the list ends with {FAULTS}" for number in rows if number > FAULTS]
    for number, text in rows.items():
        names = NAME.findall(text)
        reason = re.match(r"none: \S", text)
        if bool(names) == bool(reason):
            problems.append(f"row {number} names tests, or says 'none: ' and why; it has: {text}")
        problems += [f"row {number}: there is no test {name}" for name in names if name not in known]
    return problems


def built_tests(build):
    """The tests in CTest's list, and whether a program is not built."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True,
                                       text=True).stdout)
    names = [test["name"] for test in listed["tests"]]
    matches = [PARAMETERS.match(name) for name in names]
    return {match.group(1) for match in matches if match}, any(NOT_BUILT.match(name) for name in names)


def tests_in_sources(source):
    return {f"{suite}.{name}" for path in (source / "tests").rglob("*_test.cc")
            for suite, name in GTEST.findall(path.read_text(encoding="utf-8"))}


def check_the_check():
    good = "\n".join(f"| {number} | a | b | `A.B` |" for number in range(1, FAULTS + 1))
    assert problems_of(good, {"A.B"}) == []
    assert problems_of(good.replace("| 7 |", "| 49 |"), {"A.B"}) == ["no row has the number 7", "row 49: the list ends with 48"]
    assert problems_of(good, set())[0] == "row 1: there is no test A.B"
    for text in ("", "none: ", "soon", "none: `A.B`"):
        wrong = good.replace("| 3 | a | b | `A.B` |", f"| 3 | a | b | {text} |")
        assert len(problems_of(wrong, {"A.B"})) == 1, text
    assert problems_of(good.replace("| 3 | a | b | `A.B` |", "| 3 | a | b | none: it cannot happen |"), {"A.B"}) == []
    assert PARAMETERS.match("Cpus/RegroupKills.GoOn/4_ranks").group(1) == "RegroupKills.GoOn"


def main():
    check_the_check()
    source = pathlib.Path(os.environ["GP_SOURCE"])
    known, partly = built_tests(sys.argv[1])
    if partly:
        print("some test programs are not built: their tests are looked up in the sources")
        known |= tests_in_sources(source)
    problems = problems_of((source / "docs/fault-table.md").read_text(encoding="utf-8"), known)
    for problem in problems:
        print(f"docs/fault-table.md: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
