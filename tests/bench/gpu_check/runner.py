"""Runs the rows of a stage one after the other within a time limit and keeps each result as soon as it is known, so that a stage
that was killed goes on where it was. A row that fails is a row of the report, never the end of the stage."""
import json
import os
import pathlib
import re
import subprocess
import time

GRACE_S = 15  # that is left for writing when the time is up
ATTEMPTS = 2  # of a row that was ended together with its stage
SHORT_OF_MEMORY = re.compile(r"out of memory|OutOfMemory|ALLOC_FAILED", re.IGNORECASE)


class Missing(Exception):
    """What a row needs is not here; its words say what, and how to get it."""


class OutOfMemory(RuntimeError):
    """A program, or a peer that it started, found too little memory; its words are those of who did."""


class OutOfTime(RuntimeError):
    """A program was ended because the time of its row was up."""


class Results:
    """The results of one stage in OUT/<stage>.json, replaced as a whole after each row."""

    def __init__(self, folder, stage):
        self.path = pathlib.Path(folder) / f"{stage}.json"
        self.rows = {}
        if self.path.exists():
            self.rows = json.loads(self.path.read_text(encoding="utf-8"))["rows"]

    def put(self, key, row):
        self.rows[key] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.path.with_suffix(".partial")
        text = json.dumps({"apiVersion": "gp/v1", "kind": "GpuCheckStage", "rows": self.rows}, indent=1)
        with open(scratch, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        scratch.rename(self.path)

    def is_done(self, key):
        return self.rows.get(key, {}).get("status") not in (None, "started")

    def attempts(self, key):
        return self.rows.get(key, {}).get("attempts", 0)


def failure(name, done):
    """The error of a program that failed, with its last words, or with those about memory."""
    words = [line.strip() for line in (done.stderr.strip() or done.stdout.strip()).splitlines() if line]
    about_memory = next(filter(SHORT_OF_MEMORY.search, words), None)
    if about_memory:
        return OutOfMemory(f"{name}: {about_memory[:160]}")
    return RuntimeError(f"{name} ended with {done.returncode}: {words[-1] if words else 'no words'}")


def complete(command, timeout, environment):
    """What a program wrote to its output and to its log. RuntimeError when it fails or takes too long."""
    name = pathlib.Path(str(command[0])).name
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout, check=False,
                              env=environment)
    except subprocess.TimeoutExpired:
        raise OutOfTime(f"{name} took longer than {timeout:.0f} s") from None
    except OSError as error:
        raise RuntimeError(f"{name} could not be started: {error.strerror}") from None
    if done.returncode != 0:
        raise failure(name, done)
    return done


def run(command, timeout, environment):
    """The output of a program. RuntimeError as complete() raises it."""
    return complete(command, timeout, environment).stdout


def measure(row, context, stage_end):
    """The result of a row, or None when the stage ended before the row had all of its own time."""
    started = time.monotonic()
    context.deadline = min(started + row.limit_s, stage_end)
    try:
        outcome = {"status": "ok", "data": row.how(context)}
    except Missing as reason:
        outcome = {"status": "skipped", "reason": str(reason)}
    except OutOfTime as error:
        if started + row.limit_s > stage_end:
            return None
        outcome = {"status": "failed", "reason": str(error)}
    except Exception as error:  # whatever it was, the next row has its turn
        outcome = {"status": "failed", "reason": str(error) or type(error).__name__}
    return {"title": row.title, **outcome, "seconds": round(time.monotonic() - started, 1)}


def run_stage(rows, results, context, limit_s, say=print):
    """Runs what is not done yet; answers how many rows were left for the next call."""
    end = time.monotonic() + limit_s - GRACE_S
    left = 0
    for row in rows:
        if results.is_done(row.key):
            continue
        attempts = results.attempts(row.key)
        if attempts >= ATTEMPTS:
            results.put(row.key, {"title": row.title, "status": "failed", "reason": f"did not end in {ATTEMPTS} stages", "seconds": 0})
            continue
        if end - time.monotonic() < row.expected_s:
            left += 1
            continue
        results.put(row.key, {"title": row.title, "status": "started", "attempts": attempts + 1})
        result = measure(row, context, end)
        if result is None:
            left += 1
            continue
        results.put(row.key, result)
        say(f"{result['status']:8} {result['seconds']:7.1f} s  {row.key}{': ' + result['reason'] if 'reason' in result else ''}")
    return left
