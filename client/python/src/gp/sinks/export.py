"""Keeps what another tool has of a run equal to the records of the coordinator.

A sink reads the records, so it may begin late, be away, or be killed: it continues from what the tool already has. No step
waits for it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import math
import typing

from gp.plain_yaml import Tree, flattened, parse
from gp.records import Leg, Point
from gp.run import Run


@dataclasses.dataclass(frozen=True)
class Facts:
    """All that a tool shows of a run beside its curves."""

    id: str
    name: str
    namespace: str
    state: str
    reason: str
    user: str
    note: str
    parent: str  # "base@250"; empty: none
    labels: dict[str, str]
    submitted_at: datetime.datetime
    ended_at: datetime.datetime | None
    epoch: int
    step: int
    legs: tuple[Leg, ...]

    @property
    def hyperparameters(self) -> dict[str, str]:
        """The resolved run file of the first leg, with names such as "optimizer.lr"."""
        return flattened(parse(self.legs[0].resolved)) if self.legs else {}

    @property
    def newest_run_file(self) -> Tree:
        return parse(self.legs[-1].resolved) if self.legs else {}

    def changed_hyperparameters(self) -> dict[int, dict[str, str]]:
        """By the number of a later leg: the keys that differ from the leg before it."""
        keys = [flattened(parse(leg.resolved)) for leg in self.legs]
        return {
            leg.number: {key: value for key, value in now.items() if before.get(key) != value}
            for leg, before, now in zip(self.legs[1:], keys, keys[1:])
        }


class Sink(typing.Protocol):
    """One run in one tool. Points arrive in the order of their steps."""

    place: str  # where the user finds the run

    def is_complete(self, facts: Facts) -> bool:
        """Whether the tool is known to have all of this, before `begin`."""

    def begin(self, facts: Facts) -> dict[int, float]:
        """The losses that the tool has of this run, by step."""

    def start_over(self, facts: Facts) -> None:
        """Removes what the tool has of this run."""

    def may_lack(self, step: int) -> bool:
        """Whether the tool may have only a part of this step, of which `begin` returned the loss."""

    def write(self, facts: Facts, points: collections.abc.Iterable[Point]) -> int:
        """Returns of how many points the tool lacked something."""

    def close(self, facts: Facts) -> None:
        """Completes the run as it is now; `write` is not called again."""


class Export:
    """Writes one run to one sink, as often as `update` is called."""

    def __init__(self, run: Run, sink: Sink) -> None:
        self.run = run
        self.sink = sink
        self.written = 0  # steps, by all updates
        self._facts: Facts | None = None
        self._losses: dict[int, float] | None = None  # what the tool has; None: not asked yet
        self._compared_epoch = -1  # the ranks of this epoch began after every step that the tool has

    def update(self) -> None:
        """Writes what the records have and the tool lacks."""
        facts = self._facts = facts_of(self.run)
        if self._losses is None:
            if self.sink.is_complete(facts):
                return
            self._losses = self.sink.begin(facts)
        if facts.epoch == self._compared_epoch:
            self._write(facts, self.run.metrics(after_step=max(self._losses, default=0)))
        else:
            self._compare_and_write(facts, list(self.run.metrics()))

    def close(self) -> None:
        """Completes what the tool has."""
        if self._facts is not None and self._losses is not None:
            self.sink.close(self._facts)

    def forget(self) -> None:
        """After an error of the tool: what it has is asked for again."""
        self._losses, self._compared_epoch = None, -1

    def _compare_and_write(self, facts: Facts, points: list[Point]) -> None:
        """Ranks may have started again from an earlier step, with equal losses or, in another leg, with other ones."""
        assert self._losses is not None
        recorded = {point.step: point.loss for point in points}
        newest, last = max(recorded, default=0), max(self._losses, default=0)
        differs = any(step in recorded and not _equal(recorded[step], loss) for step, loss in self._losses.items())
        if differs or (self.run.has_ended and newest < last):
            self.sink.start_over(facts)
            self._losses, last = {}, 0
        known = self._losses
        self._write(facts, (point for point in points if point.step not in known or self.sink.may_lack(point.step)))
        if newest >= last:
            self._compared_epoch = facts.epoch

    def _write(self, facts: Facts, points: collections.abc.Iterable[Point]) -> None:
        self.written += self.sink.write(facts, self._noted(points))

    def _noted(self, points: collections.abc.Iterable[Point]) -> collections.abc.Iterator[Point]:
        assert self._losses is not None
        losses = self._losses
        for point in points:
            yield point
            losses[point.step] = point.loss


def facts_of(run: Run) -> Facts:
    """Asks the coordinator for the run as it is now."""
    legs = tuple(run.legs())
    return Facts(
        id=run.id,
        name=run.name,
        namespace=run.namespace,
        state=run.state,
        reason=run.reason,
        user=run.submitted_by,
        note=run.note,
        parent=run.parent,
        labels=run.labels,
        submitted_at=run.submitted_at,
        ended_at=run.ended_at,
        epoch=run.epoch,
        step=run.step,
        legs=legs,
    )


def values_of(point: Point) -> dict[str, float]:
    """The numbers of a step that tools draw, with the names of `gpctl metrics -o json`."""
    values: dict[str, float] = {
        "tokens": point.tokens,
        "loss": point.loss,
        "lr": point.lr,
        "grad_norm": point.grad_norm,
        "tokens_per_second": point.tokens_per_second,
        "step_seconds": point.step_seconds,
    }
    if point.mfu > 0:  # otherwise the peak is unknown
        values["mfu"] = point.mfu
    if point.val_loss is not None:
        values["val_loss"] = point.val_loss
    return values | point.scores


def _equal(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))
