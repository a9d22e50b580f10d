#!/usr/bin/env python3
"""The commands that docs/operations and docs/security tell an operator to type. Every block of commands is executed, here or by
the test of its page, or states why it is not. The executed blocks of a page run in order in one shell with its own home."""

import contextlib
import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path += [str(SOURCE / "tests/e2e"), str(SOURCE / "tests/golden/state")]

import golden_state  # noqa: E402
import page_blocks  # noqa: E402
import page_commands  # noqa: E402

PAGES = sorted(path for folder in ("operations", "security") for path in (SOURCE / "docs" / folder).glob("*.md"))
# Pages whose blocks are executed by another test.
ELSEWHERE = {"kubernetes.md": "tests/deploy/kubernetes_test.py", "two-nodes.md": "tests/e2e/hosts/network.py"}
# Pages for users of an earlier version of gp; their commands start from the state of that version.
WITH_STATE = {"upgrade.md": "state-a3bc2193.tar.zst"}
# Pages whose commands need a running service.
WITH_SERVICE = ("access.md",)
SEEN = ("configs", "deploy", "scripts", "tests")  # folders of the source that the pages may use


def steps_of(path):
    return page_commands.executed_steps(path.read_text(encoding="utf-8"))


class Blocks(unittest.TestCase):
    def test_every_block_of_commands_is_executed_or_says_why_not(self):
        problems = []
        for path in PAGES:
            for block in page_blocks.blocks_of(path.read_text(encoding="utf-8")):
                problem = page_blocks.problem_of(block, SOURCE)
                if problem:
                    problems.append(f"{path.relative_to(SOURCE)}:{block.line}: {problem}")
        self.assertEqual(problems, [])

    def test_the_executed_blocks_are_found_in_the_form_that_is_executed(self):
        for path in PAGES:
            blocks = page_blocks.blocks_of(path.read_text(encoding="utf-8"))
            marked = [block for block in blocks if block.mark == page_blocks.EXECUTED]
            self.assertEqual(len(marked), len(page_commands.executed_blocks(path.read_text(encoding="utf-8"))), path.name)

    def test_the_test_of_a_page_names_the_page(self):
        for name, test in ELSEWHERE.items():
            if (SOURCE / "docs/operations" / name).exists():
                self.assertIn(name, (SOURCE / test).read_text(encoding="utf-8"))

    def test_an_unmarked_block_is_found(self):
        text = "Stop it:\n\n```console\n$ gpctl down\n```\n\n    gpctl list\n\n<!-- not run: no -->\n```\n# gpctl up\n```\n"
        problems = [page_blocks.problem_of(block, SOURCE) for block in page_blocks.blocks_of(text)]
        self.assertEqual(len(problems), 3)
        self.assertIn("needs the mark", problems[0])
        self.assertIn("console block", problems[1])
        self.assertIn("no reason", problems[2])

    def test_what_is_no_command_needs_no_mark(self):
        text = "The file:\n\n    data:\n      roots: [/srv]\n\n```\nqueued  requeued  rank 0\n```\n"
        self.assertEqual([page_blocks.problem_of(block, SOURCE) for block in page_blocks.blocks_of(text)], [None, None])


class Commands(unittest.TestCase):
    def test_work(self):
        executed = 0
        for path in PAGES:
            steps = [] if path.name in ELSEWHERE else steps_of(path)
            if not steps:
                continue
            with self.subTest(path.name), home_for(path) as home:
                setup = [("gpctl up --detach", [])] if path.name in WITH_SERVICE else []
                self.assertEqual(problems_of(setup + steps, home), [])
            executed += len(steps)
            print(f"{path.relative_to(SOURCE)}: {len(steps)} commands work", flush=True)
        self.assertGreater(executed, 0)


@contextlib.contextmanager
def home_for(path):
    if path.name in WITH_STATE:
        with golden_state.GoldenState(golden_state.GOLDEN / WITH_STATE[path.name]) as root:
            yield root / "home"
    else:
        with tempfile.TemporaryDirectory(prefix="gp-page-") as home:
            yield home


def problems_of(steps, home):
    for folder in SEEN:
        pathlib.Path(home, folder).symlink_to(SOURCE / folder)
    return page_commands.problems_of(steps, page_commands.outputs_of(steps, home))


if __name__ == "__main__":
    unittest.main()
