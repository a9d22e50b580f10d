"""Runs rows one after the other within a time limit and saves each result as soon as it is known, so that the next call
continues where a killed one stopped. A row that fails becomes a row of the report and does not end the call."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import machine_facts

GRACE_S = 15  # reserved for writing results when the time is up
ATTEMPTS = 2  # a row is not started more often if calls keep ending before it does
WATCH = "read -r _; kill -s KILL 0"  # waits until its input is closed, then kills its process group
SHORT_OF_MEMORY = re.compile(r"out of memory|OutOfMemory|ALLOC_FAILED", re.IGNORECASE)


class Missing(Exception):
    """Something that a row needs is missing; the message says what it is and how to get it."""


class DoesNotFit(Missing):
    """The machine is too small for a row, so later calls do not try it again."""


class OutOfMemory(RuntimeError):
    """A program, or a peer that it started, ran out of memory. The message is that of the process that did."""


class OutOfTime(RuntimeError):
    """A program was ended because the time of its row was up."""


class Results:
    """The results of all stages, {stage: {key of the row: row}}. OUT/results.json is replaced atomically after each row."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "results.json"
        self.stages = {}
        if self.path.exists():
            self.stages = json.loads(self.path.read_text(encoding="utf-8"))["stages"]
        # Rows skipped in an earlier call are tried again: their requirements may be met now.
        self.again = {(stage, key) for stage, found in self.stages.items() for key, row in found.items()
                      if row["status"] == "skipped" and not row.get("final")}

    def put(self, stage, key, row):
        self.again.discard((stage, key))
        self.stages.setdefault(stage, {})[key] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.path.with_suffix(".partial")
        text = json.dumps({"apiVersion": "gp/v1", "kind": "GpuCheckResults", "stages": self.stages}, indent=1)
        with open(scratch, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        scratch.rename(self.path)

    def find(self, row):
        return self.stages.get(row.stage, {}).get(row.key, {})

    def is_done(self, row):
        return (row.stage, row.key) not in self.again and self.find(row).get("status") not in (None, "started")

    def attempts(self, row):
        return self.find(row).get("attempts", 0)

    def seconds(self):
        """The time that the rows that are done took."""
        return sum(row.get("seconds", 0) for stage in self.stages.values() for row in stage.values())

    def failed(self):
        return [key for stage in self.stages.values() for key, row in stage.items() if row["status"] == "failed"]


def failure(name, done):
    """The exception for a program that failed, with the last line of its output: OutOfMemory with the line about memory, if
    there is one; Missing, which skips the row, if the line names a compute capability that this GPU does not have."""
    words = [line.strip() for line in (done.stderr.strip() or done.stdout.strip()).splitlines() if line]
    about_memory = next(filter(SHORT_OF_MEMORY.search, words), None)
    if about_memory:
        return OutOfMemory(f"{name}: {about_memory[:160]}")
    last = words[-1] if words else "no words"
    if machine_facts.is_lacking(last):
        return Missing(f"{name}: {last}")
    return RuntimeError(f"{name} ended with {done.returncode}: {last}")


class Group:
    """A process group for a program and everything that it starts, so that no peer that is still compiling keeps the GPU. It is
    killed at the end of the `with` block, and also if this process is killed: that closes the input of WATCH."""

    def __enter__(self):
        self.processes = [subprocess.Popen(["sh", "-c", WATCH], stdin=subprocess.PIPE, preexec_fn=os.setpgrp)]
        self.id = self.processes[0].pid
        return self

    def start(self, command, **options):
        self.processes.append(subprocess.Popen(command, preexec_fn=lambda: os.setpgid(0, self.id), **options))
        return self.processes[-1]

    def __exit__(self, *_):
        os.killpg(self.id, signal.SIGKILL)
        for process in self.processes:
            process.communicate()


def complete(command, timeout, environment):
    """Runs a program to its end and returns its output and log. Raises RuntimeError if it fails or takes too long, Missing if
    this GPU is too old for it. Kills everything that it started and left running."""
    name = pathlib.Path(str(command[0])).name
    # Files instead of pipes: a pipe ends only when the last process that holds it ends, which may be a peer that hangs.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as log:
        with Group() as group:
            try:
                process = group.start(list(map(str, command)), stdout=output, stderr=log, env=environment)
                process.wait(timeout)
            except OSError as error:
                raise RuntimeError(f"{name} could not be started: {error.strerror}") from None
            except subprocess.TimeoutExpired:
                raise OutOfTime(f"{name} took longer than {timeout:.0f} s") from None
        texts = [file.seek(0) or file.read() for file in (output, log)]
    done = subprocess.CompletedProcess(command, process.returncode, *texts)
    if done.returncode != 0:
        raise failure(name, done)
    return done


def run(command, timeout, environment):
    """The output of a program. Raises what complete() raises."""
    return complete(command, timeout, environment).stdout


def measure(row, context, call_end):
    """Runs a row and returns its result. The status is "left" if the call's time was up before the row's own limit."""
    started = time.monotonic()
    context.deadline = min(started + row.limit_s, call_end)
    try:
        outcome = {"status": "ok", "data": row.how(context)}
    except Missing as reason:
        outcome = {"status": "skipped", "reason": str(reason), "final": isinstance(reason, DoesNotFit)}
    except OutOfTime as error:
        ended_early = started + row.limit_s > call_end
        outcome = {"status": "left" if ended_early else "failed", "reason": str(error)}
    except Exception as error:  # no error of a row may stop the rows after it
        outcome = {"status": "failed", "reason": str(error) or type(error).__name__}
    return {"title": row.title, **outcome, "seconds": round(time.monotonic() - started, 1)}


def give_up(row):
    """The result of a row that was still running at the end of ATTEMPTS calls."""
    return {"title": row.title, "status": "failed", "reason": f"was ended together with {ATTEMPTS} calls", "seconds": 0}


def fits(row, limit_s):
    """Whether a call of `limit_s` seconds is long enough to start the row."""
    return row.expected_s <= limit_s - GRACE_S


def take_turn(row, results, context, call_end):
    """Runs a row and returns its result, or None if the call has too little time left to start it."""
    attempts = results.attempts(row)
    if attempts == ATTEMPTS:
        return give_up(row)
    if call_end - time.monotonic() < row.expected_s:
        return None
    results.put(row.stage, row.key, {"title": row.title, "status": "started", "attempts": attempts + 1})
    return measure(row, context, call_end)


def run_rows(plan, results, context, limit_s, tell=lambda row, result: None):
    """Runs the rows of plan() that are not done, in order. Passes each result to `tell` and saves it, unless the end of the
    call interrupted the row. Returns the rows that are left for the next call. Calls plan() again after each row, because a row
    that took less time than expected leaves room for another."""
    end = time.monotonic() + limit_s - GRACE_S
    left = {}
    while row := next((row for row in plan() if not results.is_done(row) and row.key not in left), None):
        result = take_turn(row, results, context, end)
        if result is None or result["status"] == "left":
            left[row.key] = row
        else:
            results.put(row.stage, row.key, result)
        if result is not None:
            tell(row, result)
    return list(left.values())
