"""Records of a coordinator about runs: points, checkpoints, events, log lines. Values."""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing

from google.protobuf.timestamp_pb2 import Timestamp

from gp.v1 import run_pb2

ENDED = ("succeeded", "failed", "cancelled")

# Characters that move the cursor or change a terminal.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclasses.dataclass(frozen=True)
class Point:
    """One committed step of a run. The names are those of `gpctl metrics -o json`."""

    step: int
    epoch: int  # grows with every restart; a step that is taken again has a point in each epoch
    tokens: int  # trained on since step 0
    loss: float  # nats per token, before the update
    lr: float
    grad_norm: float  # before clipping
    tokens_per_second: float  # of this step, all ranks together
    mfu: float  # 0..1; 0 when the peak is unknown
    step_seconds: float
    val_loss: float | None  # nats per token; None: not evaluated at this step
    processor_wait: float | None  # 0..1: share of the step in which threads waited for a core; None: not counted
    skipped: bool  # a gradient was not finite, so the update was not applied
    warning: str
    at: datetime.datetime
    scores: dict[str, float]  # "val_bpb" and others, of this step


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A sealed checkpoint: complete, synced, checksummed and recorded."""

    step: int
    directory: str
    size_bytes: int
    val_loss: float | None
    sealed_at: datetime.datetime
    latest: bool
    best: bool
    pinned: bool
    leg: int


@dataclasses.dataclass(frozen=True)
class Leg:
    """A part of a run's training with a run file of its own: `gpctl extend` and `restart` begin the next one."""

    number: int  # from 1
    first_step: int  # the step of the checkpoint that it began from; -1: the start of the run
    resolved: str  # every key with its value, YAML
    target_steps: int  # 0: unknown


@dataclasses.dataclass(frozen=True)
class Event:
    """One event of a run's history."""

    at: datetime.datetime
    state: str  # after the event
    kind: str  # "submitted", "placed", "rank_failed", …
    actor: str
    reason: str


@dataclasses.dataclass(frozen=True)
class LogLine:
    at: datetime.datetime
    rank: int  # -1: the agent or the coordinator, about the run
    text: str


def shown(text: str) -> str:
    """The text without characters that could change a terminal."""
    return _UNSAFE.sub("\ufffd", text)


def enum_name(kind: typing.Any, state: int, prefix: str) -> str:
    """The name of a state of a protobuf enum; one that this package does not know has its number."""
    try:
        return str(kind.Name(state)).removeprefix(prefix).lower()
    except ValueError:
        return f"state {state}"


def state_name(state: int) -> str:
    """ "running"."""
    return enum_name(run_pb2.RunState, state, "RUN_STATE_")


def time_of(timestamp: Timestamp) -> datetime.datetime:
    """In UTC."""
    return timestamp.ToDatetime(tzinfo=datetime.timezone.utc)


def point_of(message: run_pb2.MetricPoint) -> Point:
    return Point(
        step=message.step,
        epoch=message.epoch,
        tokens=message.tokens,
        loss=message.loss,
        lr=message.learning_rate,
        grad_norm=message.gradient_norm,
        tokens_per_second=message.tokens_per_second,
        mfu=message.mfu,
        step_seconds=message.step_seconds,
        val_loss=message.validation_loss if message.HasField("validation_loss") else None,
        processor_wait=message.processor_wait if message.HasField("processor_wait") else None,
        skipped=message.skipped,
        warning=shown(message.warning),
        at=time_of(message.at),
        scores={score.name: score.value for score in message.scores},
    )


def checkpoint_of(message: run_pb2.Checkpoint) -> Checkpoint:
    return Checkpoint(
        step=message.step,
        directory=message.directory,
        size_bytes=message.size_bytes,
        val_loss=message.validation_loss if message.HasField("validation_loss") else None,
        sealed_at=time_of(message.sealed_at),
        latest=message.latest,
        best=message.best,
        pinned=message.pinned,
        leg=message.leg,
    )


def leg_of(message: run_pb2.Leg) -> Leg:
    return Leg(
        number=message.number,
        first_step=message.first_step,
        resolved=message.resolved,
        target_steps=message.target_steps,
    )


def event_of(message: run_pb2.RunEvent) -> Event:
    return Event(
        at=time_of(message.at),
        state=state_name(message.state),
        kind=message.kind,
        actor=shown(message.actor),
        reason=shown(message.reason),
    )


def log_line_of(message: run_pb2.LogLine) -> LogLine:
    return LogLine(at=time_of(message.at), rank=message.rank, text=shown(message.text))
