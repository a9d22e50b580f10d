"""gp from Python: submit training runs, follow them, compare them, sample from them. See client/python/README.md."""

from gp.chart import Curve
from gp.client import Client, compare, connect, runs
from gp.comparison import Comparison, EqualStep
from gp.errors import (
    Conflict,
    Error,
    IncompatibleVersion,
    InvalidRequest,
    InvalidRunFile,
    LimitReached,
    NotAllowed,
    NotFound,
    Problem,
    RunCancelled,
    RunFailed,
    Unreachable,
    WaitTimeout,
)
from gp.records import Checkpoint, Event, Leg, LogLine, Point
from gp.run import Run
from gp.sweep import Candidate, Sweep, Trial
from gp.transport import VERSION as __version__

__all__ = [
    "Candidate",
    "Checkpoint",
    "Client",
    "Comparison",
    "Conflict",
    "Curve",
    "EqualStep",
    "Error",
    "Event",
    "IncompatibleVersion",
    "InvalidRequest",
    "InvalidRunFile",
    "Leg",
    "LimitReached",
    "LogLine",
    "NotAllowed",
    "NotFound",
    "Point",
    "Problem",
    "Run",
    "RunCancelled",
    "RunFailed",
    "Sweep",
    "Trial",
    "Unreachable",
    "WaitTimeout",
    "__version__",
    "compare",
    "connect",
    "runs",
]
