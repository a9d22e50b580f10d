"""The commands of a page in Markdown, executed: every ```console block that follows a line `<!-- executed -->`.

Lines that begin with `$ ` are commands; all of them run in one shell, in order, in a home directory, and must succeed.
The other lines of a block must appear in the output of the command above them, in their order; `…` stands for anything in a
line.
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


def executed_steps(text):
    """The steps of all executed blocks."""
    return [step for block in executed_blocks(text) for step in steps_of(block)]


def script_of(steps):
    lines = ["exec 2>&1"]
    for index, (command, _) in enumerate(steps):
        lines += [command, f'echo "@@{index}:$?"']
    return "\n".join(lines)


def outputs_of(steps, home):
    """[(exit status, output)] of the steps; the status is None for the one that ended the shell, which is the last. A service
    that they started is stopped."""
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
    """The first of the expected lines that does not appear in the output after the ones before it; None when all do."""
    lines = iter(output.split("\n"))
    return next((line for line in expected if not any(shows(line.strip(), shown) for shown in lines)), None)


def shows(expected, line):
    """Whether the line holds the pieces of `expected` between its `…`, in their order."""
    end = 0
    for piece in expected.split("…"):
        found = line.find(piece, end)
        if found < 0:
            return False
        end = found + len(piece)
    return True


def problem_of(step, result):
    """What is wrong with what the step did; None when nothing is."""
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
