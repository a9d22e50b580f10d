"""Executes the README's commands as a new user types them."""

import os
import pathlib
import sys
import tempfile

import page_commands

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])


def main():
    steps = page_commands.executed_steps((SOURCE / "README.md").read_text(encoding="utf-8"))
    if not steps:
        print("README.md has no executed block")
        return 1
    with tempfile.TemporaryDirectory(prefix="gp-readme-") as home:
        for folder in ("configs", "build"):
            pathlib.Path(home, folder).symlink_to(SOURCE / folder)
        results = page_commands.outputs_of(steps, home)
    problems = page_commands.problems_of(steps, results)
    print("\n\n".join(problems) if problems else f"{len(steps)} commands of the README work")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
