"""Executes the README: every ```console block that follows a line `<!-- executed -->`.

Lines that begin with `$ ` are commands; all of them run in one shell, in order, in a new home directory, and must succeed.
The other lines of a block must appear in the output of the command above them, where `…` stands for anything.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
MARKER = "<!-- executed -->"
SECONDS_MAX = 540


def executed_blocks(text):
    return re.findall(re.escape(MARKER) + r"\n+```console\n(.*?)```", text, re.DOTALL)


def steps_of(block):
    """[(command, expected output lines)]; a command may continue on lines that begin with `> `."""
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif line.startswith("> ") and not steps[-1][1]:
            steps[-1] = (steps[-1][0] + "\n" + line[2:], [])
        elif line.strip():
            steps[-1][1].append(line)
    return steps


def script_of(steps):
    lines = ["exec 2>&1"]
    for index, (command, _) in enumerate(steps):
        lines += [command, f'echo "@@{index}:$?"']
    return "\n".join(lines)


def outputs_of(steps, home):
    environment = {"HOME": home, "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
                   "LANG": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", script_of(steps)], cwd=home, env=environment, check=False,
                          stdout=subprocess.PIPE, text=True, errors="replace",
                          timeout=SECONDS_MAX)
    results, rest = [], done.stdout
    for index in range(len(steps)):
        found = re.search(rf"@@{index}:(\d+)\n", rest)
        if not found:
            results.append((None, rest))
            break
        results.append((int(found.group(1)), rest[:found.start()]))
        rest = rest[found.end():]
    return results


def matches(expected, output):
    pattern = "[^\n]*\n(?:.*\n)?[^\n]*?".join(
        ".*?".join(re.escape(part) for part in line.strip().split("…")) for line in expected)
    return re.search(pattern, output, re.DOTALL) is not None


def problem_of(step, result):
    command, expected = step
    status, output = result
    if status != 0:
        return f"$ {command}\nexit {status}\n{output}"
    if expected and not matches(expected, output):
        return f"$ {command}\nthe README shows\n" + "\n".join(expected) + f"\nbut it printed\n{output}"
    return None


def stop_what_was_started(home):
    subprocess.run([PROGRAMS / "gpctl", "down"], env={**os.environ, "HOME": home}, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)


def main():
    steps = [step for block in executed_blocks((SOURCE / "README.md").read_text(encoding="utf-8"))
             for step in steps_of(block)]
    if not steps:
        print("README.md has no executed block")
        return 1
    with tempfile.TemporaryDirectory(prefix="gp-readme-") as home:
        for folder in ("configs", "build"):
            pathlib.Path(home, folder).symlink_to(SOURCE / folder)
        try:
            results = outputs_of(steps, home)
        finally:
            stop_what_was_started(home)
    problems = [problem for problem in map(problem_of, steps, results) if problem]
    print("\n\n".join(problems) if problems else f"{len(steps)} commands of the README work")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
