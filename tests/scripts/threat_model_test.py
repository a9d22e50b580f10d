"""Every claim in docs/security/threat-model.md names a test, and every named test exists."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/security/threat-model.md"


def existing_tests():
    names = set()
    for path in (ROOT / "tests").rglob("*_test.cc"):
        for suite, case in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text(), re.MULTILINE):
            names.add(f"{suite}.{case}")
    fuzz = (ROOT / "tests/fuzz/CMakeLists.txt").read_text()
    names.update(f"{name}_fuzz" for name in re.findall(r"^gp_fuzz\((\w+) ", fuzz, re.MULTILINE))
    return names


def claims():
    """(line number, last cell) of each row in tables whose last column is "shown by"."""
    shown = False
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if not line.startswith("|"):
            shown = False
            continue
        last = line.strip().strip("|").split("|")[-1].strip()
        if last == "shown by":
            shown = True
        elif shown and set(last) - set("-"):
            yield number, last


class ThreatModel(unittest.TestCase):
    def test_each_claim_names_tests_that_exist(self):
        tests = existing_tests()
        self.assertGreater(len(tests), 1000)
        rows = list(claims())
        self.assertGreater(len(rows), 25)
        for number, cell in rows:
            named = re.findall(r"`([^`]+)`", cell)
            self.assertTrue(named, f"{PAGE.name}:{number}: no test is named")
            for name in named:
                self.assertTrue(name in tests, f"{PAGE.name}:{number}: there is no test {name}")


if __name__ == "__main__":
    unittest.main()
