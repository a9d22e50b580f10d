"""Runs a command until a deadline. Afterwards no process that it started is left."""
import ctypes
import os
import pathlib
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
END_SECONDS = 5  # time to end after SIGTERM, before SIGKILL follows


class OutOfTime(Exception):
    """The command was still running at the deadline and was ended."""


def adopt_orphans():
    """Makes this process the new parent of every orphaned descendant, so that descendants() finds them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(command, deadline, **options):
    """The exit status of the command. Raises OutOfTime if it had to be ended at `deadline` (of time.monotonic(); None: no
    deadline)."""
    process = subprocess.Popen(command, **options)
    try:
        return process.wait(None if deadline is None else max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise OutOfTime from None
    finally:
        end_descendants()
        process.poll()  # end_descendants() has already reaped the process


def descendants():
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue  # the process has just ended
        children.setdefault(parent, []).append(int(stat.parent.name))
    found, waiting = [], [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def end_descendants():
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            reap()
            found = descendants()
            if not found:
                return
            for pid in found:
                send(pid, number)
            time.sleep(0.05)


def reap():
    """Reaps children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
