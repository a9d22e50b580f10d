"""Executes client/python/README.md as a reader types it: its commands, then its Python, with a service of its own."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import python_packages

python_packages.continue_there()

sys.path.insert(0, str(python_packages.SOURCE / "tests" / "e2e"))
import page_commands  # noqa: E402

PAGE = python_packages.PACKAGE / "README.md"
SECONDS_MAX = 300
PYTHON_BLOCK = re.compile(re.escape(page_commands.MARKER) + r"\n+```python\n(.*?)```\n(?:\n```\n(.*?)```)?", re.DOTALL)


def python_blocks(text):
    """[(program, expected lines)]."""
    return [(program, expected.splitlines()) for program, expected in PYTHON_BLOCK.findall(text)]


def program_of(blocks):
    """The blocks as one program that marks where the output of each begins."""
    return "".join(f"print('@@{index}', flush=True)\n{program}" for index, (program, _) in enumerate(blocks))


def environment_of(home):
    """pip takes what the package needs from .deps/python, so no network is used."""
    return {
        "HOME": str(home),
        "PATH": f"{page_commands.PROGRAMS}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": str(python_packages.site_packages()),
    }


def prepare(home):
    for folder in ("docs",):
        (home / folder).symlink_to(python_packages.SOURCE / folder)
    shutil.copytree(python_packages.PACKAGE, home / "client" / "python", ignore=shutil.ignore_patterns("*.egg-info", "build"))


def run_page(home):
    """The problems of the page's commands and programs."""
    text, environment = PAGE.read_text(encoding="utf-8"), environment_of(home)
    steps, blocks = page_commands.executed_steps(text), python_blocks(text)
    for command, _ in steps:
        done = subprocess.run(
            command, shell=True, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=SECONDS_MAX
        )
        if done.returncode != 0:
            return [f"$ {command}\nexit {done.returncode}\n{done.stdout}{done.stderr}"]
    done = subprocess.run(
        ["venv/bin/python", "-W", "error::DeprecationWarning:gp", "-"],
        input=program_of(blocks),
        cwd=home,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    if done.returncode != 0:
        return [f"{done.stdout}{done.stderr}"]
    outputs = re.split(r"@@\d+\n", done.stdout)[1:]
    missing = [(page_commands.first_missing(expected, output), output) for (_, expected), output in zip(blocks, outputs)]
    return [f"the page shows\n{line}\nbut it printed\n{output}" for line, output in missing if line is not None]


def main():
    with tempfile.TemporaryDirectory(prefix="gp-client-readme-") as folder:
        home = pathlib.Path(folder)
        prepare(home)
        try:
            problems = run_page(home)
        finally:
            subprocess.run(
                [page_commands.PROGRAMS / "gpctl", "down"], env=environment_of(home), check=False, capture_output=True
            )
    print("\n\n".join(problems) if problems else "the page's commands and programs work")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
