"""scripts/coverage counts each line once, even if several programs compile it, and leaves out code that is not the
project's."""

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "coverage"
HEADER = "inline int Half(int value) {\n  if (value < 0)\n    return 0;\n  return value / 2;\n}\n"
MAIN = ('#include "lib/half.h"\n#include "tests/other.h"\nint Quarter(int);\n'
        'int main() { return Half(0) + Other() + Quarter(0); }\n')
QUARTER = '#include "lib/half.h"\nint Quarter(int value) { return Half(Half(value)); }\n'


def load():
    loader = importlib.machinery.SourceFileLoader("coverage_script", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Coverage(unittest.TestCase):
    def test_lines_are_written_as_spans(self):
        self.assertEqual(load().spans([5, 3, 4, 9, 11, 12]), "3-5, 9, 11-12")
        self.assertEqual(load().spans([]), "")

    @unittest.skipUnless(shutil.which("g++") and shutil.which("gcov"), "g++ or gcov is not installed")
    def test_a_line_counts_once_and_is_reached_if_any_program_reached_it(self):
        script = load()
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            tree = root / "build" / "coverage"
            for name, text in {"lib/half.h": HEADER, "lib/quarter.cc": QUARTER, "lib/main.cc": MAIN,
                               "tests/other.h": "inline int Other() { return 0; }\n"}.items():
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            tree.mkdir(parents=True)
            for name in ("quarter", "main"):
                compiled = ["-c", root / f"lib/{name}.cc", "-o", tree / f"{name}.o"]
                subprocess.run(["g++", "-I", root, "--coverage", *compiled], check=True)
            subprocess.run(["g++", "--coverage", tree / "quarter.o", tree / "main.o", "-o", tree / "program"], check=True)
            subprocess.run([tree / "program"], check=True, cwd=tree)
            script.ROOT, script.TREE = root, tree
            lines = script.read_counters()
        self.assertEqual(sorted(lines), ["lib/half.h", "lib/main.cc", "lib/quarter.cc"])
        self.assertEqual([line for line, reached in sorted(lines["lib/half.h"].items()) if not reached], [3])
        self.assertEqual(script.figure([lines["lib/half.h"]]), (len(lines["lib/half.h"]), len(lines["lib/half.h"]) - 1))


if __name__ == "__main__":
    unittest.main()
