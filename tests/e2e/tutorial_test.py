"""Executes the tutorials "the second run" and "from nanoGPT" as a reader types them, with the real programs.

Every block of commands is executed unless a line `<!-- not run: REASON -->` stands before it: blocks of ```console, with the
output that they show, and indented blocks whose lines begin with `gpctl`. All commands of a page run in order in one shell, in a
home directory with a text `text.txt` and a folder `nanoGPT` with a small copy of its layout.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import page_commands

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
NOT_RUN = re.compile(r"<!-- not run: .+ -->\s*\Z")
# Commands that go on until Ctrl-C.
ENDLESS = ("gpctl top", "gpctl tensorboard", "gpctl serve")

# The settings of nanoGPT's character model.
NANOGPT_CONFIG = """\
# a small model of characters
out_dir = 'out-shakespeare-char'
eval_interval = 250 # often, because it will overfit
eval_iters = 200
log_interval = 10
always_save_checkpoint = False
wandb_log = False
wandb_project = 'shakespeare-char'
dataset = 'shakespeare_char'
gradient_accumulation_steps = 1
batch_size = 64
block_size = 256
n_layer = 6
n_head = 6
n_embd = 384
dropout = 0.2
learning_rate = 1e-3
max_iters = 5000
lr_decay_iters = 5000
min_lr = 1e-4
beta2 = 0.99
warmup_iters = 100
"""


def blocks_of(page):
    """The blocks of commands of a page, as (text before, block)."""
    pattern = re.compile(r"```console\n((?:.*\n)*?)```|^    gpctl .*\n(?:    .*\n)*", re.MULTILINE)
    for found in pattern.finditer(page):
        yield page[:found.start()], found.group(1) or indented_as_console(found.group(0))


def indented_as_console(block):
    """The lines of an indented block that begin with `gpctl` are commands; the others are what they print."""
    lines = [line[4:] for line in block.splitlines()]
    return "".join(("$ " if line.startswith("gpctl ") else "") + line + "\n" for line in lines)


def steps_of_page(page):
    return [step for before, block in blocks_of(page) if not NOT_RUN.search(before)
            for step in page_commands.steps_of(block) if not step[0].startswith(ENDLESS)]


def make_home(home):
    words = "the quick brown fox jumps over the lazy dog and runs away from it".split()
    lines = (" ".join(words[(7 * i + j * j) % len(words)] for j in range(9)) + ".\n" for i in range(9000))
    (home / "text.txt").write_text("".join(lines), encoding="utf-8")
    config = home / "nanoGPT" / "config"
    data = home / "nanoGPT" / "data" / "shakespeare_char"
    config.mkdir(parents=True)
    data.mkdir(parents=True)
    (config / "train_shakespeare_char.py").write_text(NANOGPT_CONFIG, encoding="utf-8")
    (data / "input.txt").write_text((home / "text.txt").read_text(encoding="utf-8"), encoding="utf-8")


class Blocks(unittest.TestCase):
    PAGE = ("Text\n\n    gpctl list\n    gpctl status a  # a comment\n\nMore\n\n<!-- not run: it needs a GPU -->\n"
            "```console\n$ gpctl doctor\n```\n\n```console\n$ gpctl up\nready\n```\n\n    not a command\n")

    def test_are_executed_unless_the_page_says_why_not(self):
        self.assertEqual(steps_of_page(self.PAGE),
                         [("gpctl list", []), ("gpctl status a  # a comment", []), ("gpctl up", ["ready"])])


class Tutorials(unittest.TestCase):
    maxDiff = None

    def execute(self, name):
        steps = steps_of_page((SOURCE / "docs" / "tutorials" / name).read_text(encoding="utf-8"))
        self.assertTrue(steps, f"{name} has no commands")
        with tempfile.TemporaryDirectory(prefix="gp-tutorial-") as folder:
            home = pathlib.Path(folder)
            make_home(home)
            results = page_commands.outputs_of(steps, home)
        problems = page_commands.problems_of(steps, results)
        self.assertEqual(problems, [], "\n\n".join(problems))
        self.assertEqual(len(results), len(steps))

    def test_the_second_run_works_as_typed(self):
        self.execute("second-run.md")

    def test_from_nanogpt_works_as_typed(self):
        self.execute("from-nanogpt.md")


if __name__ == "__main__":
    sys.exit(unittest.main())
