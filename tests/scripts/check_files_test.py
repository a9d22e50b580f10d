"""scripts/check_files.py finds meaningless names, leftovers, direct uses of clocks, headers without a description, and dead
links."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_files.py"


def check(files):
    with tempfile.TemporaryDirectory() as directory:
        for path, content in files.items():
            file = pathlib.Path(directory, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        for command in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", "-C", directory, *command], check=True, capture_output=True)
        done = subprocess.run([sys.executable, SCRIPT, "--root", directory],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckFiles(unittest.TestCase):
    def expect_finding(self, files, words):
        status, output = check(files)
        self.assertEqual(status, 1, output)
        self.assertIn(words, output)

    def test_a_clean_tree_passes(self):
        status, output = check({"base/noun.h": "// Noun: a thing.\n#pragma once\n",
                                "docs/a.md": "[b](b.md) and [c](../base/noun.h)\n",
                                "docs/b.md": "See docs/a.md.\n"})
        self.assertEqual(status, 0, output)

    def test_names_that_say_nothing(self):
        for path in ("base/string_util.cc", "common/a.cc", "rpc/session_manager.cc"):
            self.expect_finding({path: ""}, "name the file after the noun")

    def test_leftovers(self):
        self.expect_finding({"a.cc": "// TO" "DO: later\n"}, "a.cc:1: unfinished work")

    def test_paths_of_one_machine(self):
        self.expect_finding({"a.py": "x = '/ro" "ot/data'\n"}, "a.py:1: an absolute path")

    def test_clocks_are_read_in_one_place(self):
        line = "auto now = std::chrono::system_clock::now();\n"
        self.expect_finding({"coordinator/a.cc": line}, "coordinator/a.cc:1: reads a clock")
        self.assertEqual(check({"lib/base/clock.cc": line})[0], 0)

    def test_headers_open_with_a_paragraph(self):
        self.expect_finding({"base/a.h": "#pragma once\n"}, "opens with a paragraph")
        self.expect_finding({"base/a.h": "// A: a thing.\n"}, "#pragma once is missing")

    def test_folders_are_entered_by_the_build(self):
        files = {"CMakeLists.txt": "add_subdirectory(tests)\n", "tests/CMakeLists.txt": "add_subdirectory(pages_of_old)\n",
                 "tests/pages/CMakeLists.txt": "# tests\n"}
        self.expect_finding(files, "tests/pages/CMakeLists.txt:1: no CMakeLists.txt above enters tests/pages/")
        files["tests/CMakeLists.txt"] = "add_subdirectory(pages)\n"
        self.assertEqual(check(files)[0], 0)

    def test_kernels_wait_for_the_one_in_front_of_them(self):
        kernel = "__global__ void __launch_bounds__(2)\n    SumKernel(int* a) {\n%s  *a = 1;\n}\n"
        files = {"cuda/kernels.cmake": "set(sources\n  a.cu)\n"}
        self.expect_finding({**files, "cuda/a.cu": kernel % ""}, "cuda/a.cu:1: SumKernel does not begin with AwaitPrevious()")
        self.assertEqual(check({**files, "cuda/a.cu": kernel % "  AwaitPrevious();\n"})[0], 0)

    def test_device_code_that_no_target_compiles(self):
        self.expect_finding({"cuda/a.cu": "", "cuda/kernels.cmake": "set(sources\n  aa.cu)\n"},
                            "cuda/a.cu:1: no CMake file of cuda/ or above it lists it; nothing would compile it")
        self.assertEqual(check({"cuda/a.cu": "", "cuda/kernels.cmake": "set(sources\n  a.cu)\n"})[0], 0)

    def test_dead_links(self):
        self.expect_finding({"README.md": "one\n[a](docs/a.md)\n"}, "README.md:2: points to docs/a.md")
        self.expect_finding({"a.h": "// docs/formats/a.md\n#pragma once\n"}, "points to docs/formats/a.md")

    def test_two_classes_of_one_name_in_a_program(self):
        def header(text):
            return "// What it is.\n#pragma once\n" + text
        pool = header("class Pool final : public Base {\n};\n")
        expected = "lib/http/pool.h:1: class Pool has the name of one in coordinator/pool.h, in the same program"
        self.expect_finding({"coordinator/pool.h": pool, "lib/http/pool.h": pool}, expected)
        apart = {"coordinator/pool.h": pool, "worker/agent/pool.h": pool, "worker/data/pool.h": pool,
                 "client/gpctl/pool.h": pool, "client/gateway/pool.h": pool}
        self.assertEqual(check(apart)[0], 0)
        self.assertEqual(check({"lib/a.h": pool, "lib/b.h": header("class Pool;\n")})[0], 0)

    def test_a_folder_with_too_many_units(self):
        files = {f"lib/base/u{i}.cc": "" for i in range(30)}
        self.assertEqual(check(files)[0], 0)
        self.expect_finding({**files, "lib/base/u30.cc": ""}, "lib/base/:1: 31 units, at most 30")
        self.assertEqual(check({**files, "lib/base/u1.h": "// It.\n#pragma once\n"})[0], 0)

    def test_a_unit_without_a_test_at_the_mirrored_path(self):
        tree = {"lib/a/one.cc": "", "lib/a/two.cc": "", "lib/a/main.cc": "", "tests/lib/a/one_test.cc": ""}
        listed = {**tree, "scripts/units_without_test": "lib/a/two\n"}
        self.assertEqual(check(listed)[0], 0)
        self.expect_finding({**tree, "scripts/units_without_test": ""}, "lib/a/two.cc:1: tests/lib/a/two_test.cc is missing")
        self.expect_finding({**listed, "tests/lib/a/two_test.cc": ""}, "lib/a/two has its test now")
        self.expect_finding({**listed, "scripts/units_without_test": "lib/a/two\nlib/a/gone\n"}, "there is no lib/a/gone.cc")

    def test_the_list_of_units_without_a_test_does_not_grow(self):
        most = int(re.search(r"^UNITS_WITHOUT_TEST_MAX = (\d+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)[1])
        units = [f"lib/f{i // 30}/u{i}" for i in range(most + 1)]
        files = {f"{unit}.cc": "" for unit in units}
        first = {path: "" for path in list(files)[:most]}
        self.assertEqual(check({**first, "scripts/units_without_test": "\n".join(units[:most])})[0], 0)
        self.expect_finding({**files, "scripts/units_without_test": "\n".join(units)},
                            f"scripts/units_without_test:1: {most + 1} units, at most {most}")

    def test_prose_that_does_not_wrap(self):
        line = "word " * 30
        self.expect_finding({"a.md": f"one\n{line}\n"}, "a.md:2: 150 characters; prose wraps at 120")
        for other in (f"| {line} |", f"```\n{line}\n```", f"## {line}", f"    {line}", "x" * 200, "word " * 24):
            self.assertEqual(check({"a.md": other + "\n"})[0], 0, other)
        self.assertEqual(check({"docs/run-file.md": line + "\n"})[0], 0)

    def test_pages_that_no_index_lists(self):
        files = {"docs/adr/README.md": "[one](0001-one.md)\n", "docs/adr/0001-one.md": "# 1\n"}
        self.assertEqual(check(files)[0], 0)
        self.expect_finding({**files, "docs/adr/0002-two.md": "# 2\n"}, "does not list this page")


if __name__ == "__main__":
    unittest.main()
