"""The exceptions of this package. Each has a message that names the thing, the place and the way out."""

from __future__ import annotations

import dataclasses
import re

import grpc


class Error(Exception):
    """The base of all exceptions that this package raises on purpose."""


class InvalidRequest(Error):
    """A request, an override or a setting of the connection is not valid."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem of a run file: where it is, what is wrong and what to do."""

    source: str  # the file's path, "(dict)", or "--set KEY" for an override
    line: int | None  # from 1; None: the problem has no place in the text
    column: int | None  # from 1, in characters
    message: str
    excerpt: str = ""  # the line itself
    hint: str = ""  # "did you mean 'optimizer.lr'?"


class InvalidRunFile(InvalidRequest):
    """The run file has problems; nothing was submitted."""

    def __init__(self, text: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(text)
        self.problems = problems


class NotFound(Error):
    """There is no such run, checkpoint or context, or a reference is ambiguous."""


class NotAllowed(Error):
    """The token is missing, expired, or lacks the role."""


class Conflict(Error):
    """The state of the run does not allow it, or the name is taken."""


class LimitReached(Error):
    """A limit of the coordinator or gateway is reached; the message names it."""


class Unreachable(Error):
    """The coordinator or gateway cannot be reached, or did not answer in time."""


class IncompatibleVersion(Error):
    """The coordinator speaks another protocol than this package."""


class RunFailed(Error):
    """Raised by `Run.wait` and `Sweep.wait`: the run or sweep failed."""


class RunCancelled(Error):
    """Raised by `Run.wait` and `Sweep.wait`: the run or sweep was cancelled."""


class WaitTimeout(Error, TimeoutError):
    """Raised by `Run.wait` and `Sweep.wait`: it has not ended in time. It continues."""


_PLACE = re.compile(r"error: (?P<source>.+?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")
_NO_PLACE = re.compile(r"error: (?P<source>--set(?: [^\s:]+)?|--name|[^:]+): (?P<message>.*)")
_EXCERPT = re.compile(r" *\d+ \| (.*)")
_HINT = re.compile(r" {7}\| *\^* ?(.*)")


def check_outcome(what: str, state: str, reason: str) -> None:
    """Raises RunFailed or RunCancelled when `what`, such as "run tiny", ended in that state."""
    if state == "failed":
        raise RunFailed(f"{what} failed: {reason}")
    if state == "cancelled":
        raise RunCancelled(f"{what} was cancelled: {reason}")


def parse_problems(text: str) -> tuple[Problem, ...]:
    """The problems in a message of the coordinator; empty if it is about something else than a run file."""
    problems: list[Problem] = []
    for line in text.splitlines():
        if found := _PLACE.fullmatch(line):
            problems.append(Problem(found["source"], int(found["line"]), int(found["column"]), found["message"]))
        elif found := _NO_PLACE.fullmatch(line):
            problems.append(Problem(found["source"], None, None, found["message"]))
        elif problems and (found := _EXCERPT.fullmatch(line)):
            problems[-1] = dataclasses.replace(problems[-1], excerpt=found[1])
        elif problems and (found := _HINT.fullmatch(line)):
            problems[-1] = dataclasses.replace(problems[-1], hint=found[1])
    return tuple(problems)


_BY_CODE: dict[grpc.StatusCode, type[Error]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.UNAUTHENTICATED: NotAllowed,
    grpc.StatusCode.PERMISSION_DENIED: NotAllowed,
    grpc.StatusCode.ALREADY_EXISTS: Conflict,
    grpc.StatusCode.FAILED_PRECONDITION: Conflict,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitReached,
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: Unreachable,
}


def from_status(code: grpc.StatusCode, message: str) -> Error:
    """The exception for an answer of the coordinator that is not OK."""
    problems = parse_problems(message) if code == grpc.StatusCode.INVALID_ARGUMENT else ()
    if problems:
        return InvalidRunFile(message.rstrip("\n"), problems)
    return _BY_CODE.get(code, Error)(message)
