"""Executes the commands of a Markdown page: every ```console block that follows a line `<!-- executed -->`.

Lines that begin with `$ ` are commands. All of them run in order in one shell, in a home directory, and must succeed. The other
lines of a block must appear, in the same order, in the output of the command above them; `…` matches any text within a line.
"""

import os
import pathlib
import re
import subprocess

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])
MARKER = "<!-- executed -->"
SECONDS_MAX = 540


def executed_blocks(text):
    return re.findall(re.escape(MARKER) + r"\n+```console\n(.*?)```", text, re.DOTALL)


def steps_of(block):
    """[(command, expected output lines)]; a command continues on lines that begin with `> `."""
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif line.startswith("> ") and not steps[-1][1]:
            steps[-1] = (steps[-1][0] + "\n" + line[2:], [])
        elif line.strip():
            steps[-1][1].append(line)
    return steps


def executed_steps(text):
    """The steps of all executed blocks."""
    return [step for block in executed_blocks(text) for step in steps_of(block)]


def script_of(steps):
    lines = ["exec 2>&1"]
    for index, (command, _) in enumerate(steps):
        lines += [command, f'echo "@@{index}:$?"']
    return "\n".join(lines)


def outputs_of(steps, home):
    """[(exit status, output)] of the steps. If a step ended the shell, it is the last one and its status is None. Stops the
    service that the steps started."""
    environment = {"HOME": str(home), "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(["bash", "-c", script_of(steps)], cwd=home, env=environment, check=False,
                              stdout=subprocess.PIPE, text=True, errors="replace", timeout=SECONDS_MAX)
    finally:
        subprocess.run([PROGRAMS / "gpctl", "down"], env=environment, check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)
    results, rest = [], done.stdout
    for index in range(len(steps)):
        found = re.search(rf"@@{index}:(\d+)\n", rest)
        if not found:
            results.append((None, rest))
            break
        results.append((int(found.group(1)), rest[:found.start()]))
        rest = rest[found.end():]
    return results


def first_missing(expected, output):
    """The first expected line that does not appear in the output after the previous ones; None if all do."""
    lines = iter(output.split("\n"))
    return next((line for line in expected if not any(shows(line.strip(), shown) for shown in lines)), None)


def shows(expected, line):
    """Whether the line contains the pieces of `expected` between its `…`, in this order."""
    end = 0
    for piece in expected.split("…"):
        found = line.find(piece, end)
        if found < 0:
            return False
        end = found + len(piece)
    return True


def problem_of(step, result):
    """The problem with a step's result; None if there is none."""
    command, expected = step
    status, output = result
    if status != 0:
        return f"$ {command}\nexit {status}\n{output}"
    missing = first_missing(expected, output)
    if missing is not None:
        return f"$ {command}\nthe page shows\n{missing}\nbut it printed\n{output}"
    return None


def problems_of(steps, results):
    return [problem for problem in map(problem_of, steps, results) if problem]
