"""A sweep of the coordinator: runs that differ in the keys that it varies, and their ranking."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import html
import math
import os
import re
import secrets
import statistics
import time
import typing

from gp.errors import InvalidRequest, WaitTimeout, check_outcome
from gp.plain_yaml import typed
from gp.records import enum_name, shown, time_of
from gp.run_file import RunFile, Value, read_run_file
from gp.v1 import sweep_service_pb2 as api

if typing.TYPE_CHECKING:
    import pandas

    from gp.client import Client
    from gp.run import Run

_POLL_SECONDS = 1.0
_SEED = "seed"  # trials that differ in this key alone repeat each other
# `run: base.yaml` at the left margin of a sweep file; nothing after the colon: the run file is below it.
_RUN_PATH = re.compile(r"""^run *: *(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'#{][^#\n]*?)) *(?:#.*)?$""", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One trial of a sweep."""

    number: int  # from 1
    keys: dict[str, str]  # the varied keys with their values
    state: str  # "waiting", "running", "done", "stopped" (by the sweep), "failed", "cancelled", "deleted"
    run_id: str  # empty: its run was not submitted yet
    run_name: str
    reason: str  # why its run is in its state
    val_loss: float | None  # the lowest of its checkpoints, nats per token; None: it has none
    val_step: int
    diverged: bool  # every validation loss was NaN or infinite
    step: int
    target_steps: int
    full_steps: int  # of its whole budget; 0: unknown

    @property
    def steps(self) -> int:
        """The steps after which its loss counts: its budget, or those that it trained so far."""
        return self.target_steps if self.state == "done" else self.step

    @property
    def share(self) -> float:
        """The share of its whole budget that it has trained, 0 to 1."""
        if self.state == "done" and self.target_steps >= self.full_steps:
            return 1.0
        return self.steps / self.full_steps if self.full_steps > 0 else 0.0


@dataclasses.dataclass(frozen=True)
class Candidate:
    """The trials with equal keys but for the seed."""

    keys: dict[str, str]  # without the seed
    trials: list[Trial]
    ranked: list[Trial]  # those with a loss that trained the furthest; only their losses are comparable
    mean: float  # of their losses; NaN without any
    spread: float | None  # the standard deviation of their losses; None for fewer than two
    share: float  # of the whole budget that they trained


class Sweep:
    """One sweep. Its properties are those of the newest answer; `refresh()` asks again, and so do `wait()` and `cancel()`."""

    def __init__(self, client: Client, message: api.Sweep) -> None:
        self._client = client
        self._message = message

    @property
    def name(self) -> str:
        return self._message.name

    @property
    def namespace(self) -> str:
        return self._message.namespace

    @property
    def state(self) -> str:
        """ "running", "cancelling", "succeeded", "failed" or "cancelled"."""
        return enum_name(api.SweepState, self._message.state, "SWEEP_STATE_")

    @property
    def reason(self) -> str:
        """Why the sweep is in its state, in a sentence."""
        return shown(self._message.reason)

    @property
    def has_ended(self) -> bool:
        return self.state in ("succeeded", "failed", "cancelled")

    @property
    def submitted_by(self) -> str:
        return self._message.submitted_by

    @property
    def submitted_at(self) -> datetime.datetime:
        """In UTC."""
        return time_of(self._message.submitted_at)

    @property
    def trials(self) -> list[Trial]:
        """By number."""
        return [_trial_of(message) for message in self._message.trials]

    def refresh(self) -> Sweep:
        """Asks the coordinator for the sweep as it is now; returns this sweep."""
        request = api.GetSweepRequest(sweep=self._reference())
        return self._now(self._client.transport.ask("SweepService.Get", request, api.Sweep))

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Sweep:
        """Waits until the sweep has ended, across restarts of the coordinator; returns this sweep.

        `timeout`: seconds. `check`: a sweep that failed or was cancelled raises RunFailed or RunCancelled. Raises WaitTimeout;
        Ctrl-C ends the waiting, not the sweep.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.refresh().has_ended:
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"sweep {self.name} has not ended within {timeout:g} s: {self.reason}")
            time.sleep(_POLL_SECONDS)
        if check:
            check_outcome(f"sweep {self.name}", self.state, self.reason)
        return self

    def cancel(self) -> Sweep:
        """No trial begins any more; those that train save their last step and end."""
        request = api.CancelSweepRequest(request_id=secrets.token_hex(10), sweep=self._reference())
        return self._now(self._client.transport.ask("SweepService.Cancel", request, api.Sweep))

    def run(self, trial: Trial | int) -> Run:
        """The run of a trial, given as a trial or by number."""
        wanted = trial if isinstance(trial, Trial) else next((one for one in self.trials if one.number == trial), None)
        if wanted is None:
            raise InvalidRequest(f"sweep {self.name} has no trial {trial}; it has {len(self._message.trials)}")
        if not wanted.run_id:
            raise InvalidRequest(f"trial {wanted.number} of sweep {self.name} has not begun")
        return self._client.run(wanted.run_id)

    def ranking(self) -> list[Candidate]:
        """As `gpctl sweep status`: those that trained the largest share of their budget first, of equals the lowest mean."""
        by_keys: dict[tuple[tuple[str, str], ...], list[Trial]] = {}
        for trial in self.trials:
            by_keys.setdefault(tuple(sorted(_without_seed(trial.keys).items())), []).append(trial)
        return sorted(
            (_candidate_of(trials) for trials in by_keys.values()),
            key=lambda one: (not one.ranked, -one.share, one.mean if one.ranked else 0.0, one.trials[0].number),
        )

    def best(self) -> Trial | None:
        """The trial with the lowest loss of the candidate that is ranked first; None: no trial has a loss."""
        ranking = self.ranking()
        if not ranking or not ranking[0].ranked:
            return None
        return min(ranking[0].ranked, key=lambda trial: typing.cast(float, trial.val_loss))

    def frame(self) -> pandas.DataFrame:
        """The trials as a table, with a column for each varied key. Needs pandas: ImportError without it."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "sweep.frame() needs pandas ('pip install pandas'); sweep.trials has the same without it"
            ) from error
        rows = [
            {"trial": trial.number}
            | {key: typed(value) for key, value in trial.keys.items()}
            | {name: getattr(trial, name) for name in ("state", "val_loss", "val_step", "step", "full_steps", "run_name")}
            for trial in self.trials
        ]
        return pandas.DataFrame(rows, columns=None if rows else ["trial"]).set_index("trial")

    def __repr__(self) -> str:
        ended = f"{self._message.ended_trials}/{self._message.trial_count} trials have ended"
        return f"<gp.Sweep {self.name}: {self.state}, {ended}>"

    def _repr_html_(self) -> str:
        ranking = self.ranking()
        keys = list(ranking[0].keys) if ranking else []
        titles = ["rank", *keys, "val_loss", "spread", "trials"]
        rows = "".join(f"<tr>{_cells(_row(place, one, keys))}</tr>" for place, one in enumerate(ranking, 1))
        return (
            f"<div><b>{html.escape(self.name)}</b> {html.escape(self.state)} · {html.escape(self.reason)}"
            f"<table><tr>{_cells(titles, 'th')}</tr>{rows}</table></div>"
        )

    def _reference(self) -> str:
        return f"{self.namespace}/{self.name}"

    def _now(self, message: api.Sweep) -> Sweep:
        self._message = message
        return self


@dataclasses.dataclass(frozen=True)
class SweepFile:
    """The text of a sweep file, and the run file that it varies."""

    file: RunFile
    run: RunFile | None  # None: it is inside the sweep file


def read_sweep_file(source: collections.abc.Mapping[str, Value] | str | os.PathLike[str]) -> SweepFile:
    """A sweep file from a dict, or from the YAML file at a path, with the run file that `run` names. Raises InvalidRequest.

    In a dict, apiVersion and kind may be left out.
    """
    if isinstance(source, collections.abc.Mapping):
        source = {"apiVersion": "gp/v1", "kind": "Sweep", **source}
    file = read_run_file(source)
    if isinstance(source, collections.abc.Mapping):
        named = source.get("run")
        path = os.fspath(named) if isinstance(named, (str, os.PathLike)) else ""
    else:
        found = _RUN_PATH.search(file.text)
        path = next((group for group in found.groups() if group), "") if found else ""
    return SweepFile(file, read_run_file(os.path.join(file.directory, path)) if path else None)


def _trial_of(message: api.SweepTrial) -> Trial:
    return Trial(
        number=message.number,
        keys=dict(message.keys),
        state=_trial_state(message.state),
        run_id=message.run_id,
        run_name=message.run_name,
        reason=shown(message.reason),
        val_loss=message.validation_loss if message.HasField("validation_loss") else None,
        val_step=message.validation_step,
        diverged=message.diverged,
        step=message.step,
        target_steps=message.target_steps,
        full_steps=message.full_steps,
    )


def _candidate_of(trials: list[Trial]) -> Candidate:
    steps = max((trial.steps for trial in trials if trial.val_loss is not None), default=0)
    ranked = [trial for trial in trials if trial.val_loss is not None and trial.steps == steps]
    losses = [trial.val_loss for trial in ranked if trial.val_loss is not None]
    return Candidate(
        keys=_without_seed(trials[0].keys),
        trials=trials,
        ranked=ranked,
        mean=statistics.fmean(losses) if losses else math.nan,
        spread=statistics.stdev(losses) if len(losses) > 1 else None,
        share=ranked[0].share if ranked else 0.0,
    )


def _without_seed(keys: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in keys.items() if key != _SEED}


def _row(place: int, candidate: Candidate, keys: list[str]) -> list[str]:
    return [
        str(place) if candidate.ranked else "-",
        *(candidate.keys.get(key, "") for key in keys),
        f"{candidate.mean:.4f}" if candidate.ranked else "-",
        "-" if candidate.spread is None else f"{candidate.spread:.4f}",
        ", ".join(str(trial.number) for trial in candidate.trials),
    ]


def _cells(texts: list[str], tag: str = "td") -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _trial_state(state: int) -> str:
    name = enum_name(api.TrialState, state, "TRIAL_STATE_")
    return "running" if name == "live" else name
