"""A run of the coordinator: follow it, change it, read its results."""

from __future__ import annotations

import collections.abc
import datetime
import html
import secrets
import typing
import warnings

from gp import chart, progress
from gp.errors import Error, InvalidRequest, NotFound, Unreachable, WaitTimeout, check_outcome
from gp.forking import ForkRequest, fork_overrides, total_steps
from gp.records import (
    ENDED,
    Checkpoint,
    Event,
    Leg,
    LogLine,
    Point,
    checkpoint_of,
    event_of,
    leg_of,
    log_line_of,
    point_of,
    shown,
    state_name,
    time_of,
)
from gp.run_file import Value, override_texts
from gp.v1 import run_pb2
from gp.v1 import run_service_pb2 as api

if typing.TYPE_CHECKING:
    import pandas

    from gp.client import Client

_CHART_POINTS = 400
_COLUMNS = ("step", "epoch", "tokens", "loss", "lr", "grad_norm", "tokens_per_second", "mfu", "step_seconds", "val_loss", "at")
_NAME_CHARACTERS_MAX = 63


class Run:
    """One run. Its properties are those of the newest answer; `refresh()` asks again, and so do `wait()` and changes."""

    def __init__(self, client: Client, message: run_pb2.Run) -> None:
        self._client = client
        self._message = message

    # The newest answer.

    @property
    def id(self) -> str:
        return self._message.run_id

    @property
    def name(self) -> str:
        return self._message.name

    @property
    def namespace(self) -> str:
        return self._message.namespace

    @property
    def state(self) -> str:
        """ "queued", "running", "paused", "succeeded", "failed", "cancelled" and others."""
        return state_name(self._message.state)

    @property
    def reason(self) -> str:
        """Why the run is in its state, in a sentence."""
        return shown(self._message.reason)

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def step(self) -> int:
        return self._message.progress.step

    @property
    def target_steps(self) -> int:
        """The run's last step; 0 while unknown."""
        return self._message.progress.target_steps

    @property
    def loss(self) -> float | None:
        """The loss of the newest step, nats per token; None before the first."""
        return self._message.progress.loss if self.step > 0 else None

    @property
    def val_loss(self) -> float | None:
        """The loss of the newest evaluation, nats per token; None before the first."""
        return self._message.progress.validation_loss if self._message.progress.validation_step > 0 else None

    @property
    def tokens_per_second(self) -> float:
        """Mean over about the last ten minutes of training."""
        return self._message.progress.tokens_per_second

    @property
    def labels(self) -> dict[str, str]:
        return dict(self._message.labels)

    @property
    def note(self) -> str:
        return self._message.note

    @property
    def submitted_by(self) -> str:
        return self._message.submitted_by

    @property
    def submitted_at(self) -> datetime.datetime:
        """In UTC."""
        return time_of(self._message.submitted_at)

    @property
    def ended_at(self) -> datetime.datetime | None:
        """In UTC; None while the run has not ended."""
        return time_of(self._message.finished_at) if self.has_ended and self._message.HasField("finished_at") else None

    @property
    def epoch(self) -> int:
        """Counts the placements: it grows with every start and restart; 0 before the first."""
        return self._message.epoch

    @property
    def parent(self) -> str:
        """ "base@250": the checkpoint that the run began with; empty: none of a known run."""
        if not self._message.HasField("parent"):
            return ""
        return f"{self._message.parent.run_name or self._message.parent.run_id}@{self._message.parent.step}"

    def refresh(self) -> Run:
        """Asks the coordinator for the run as it is now; returns this run."""
        return self._now(self._client.transport.ask("Get", api.GetRequest(run=self.id), run_pb2.Run))

    def resolved(self) -> str:
        """The run file with every key and its value, YAML."""
        return self.refresh()._message.resolved

    def legs(self) -> list[Leg]:
        """The legs of the run, the newest last; asks for them."""
        return [leg_of(message) for message in self.refresh()._message.legs]

    # Following.

    def wait(self, timeout: float | None = None, *, progress: bool | None = None, check: bool = True) -> Run:
        """Waits until the run has ended, across restarts of the coordinator; returns this run.

        `timeout`: seconds. `progress` None: shown in a terminal or a notebook. `check`: a run that failed or was cancelled
        raises RunFailed or RunCancelled. Raises WaitTimeout; Ctrl-C ends the waiting, not the run.
        """
        self._follow(timeout, progress)
        if check:
            check_outcome(f"run {self.name} ({self.id})", self.state, self.reason)
        return self

    def _follow(self, timeout: float | None, wanted: bool | None) -> None:
        shows = progress.make(wanted)
        try:
            for answer in self._client.transport.stream("Watch", api.WatchRequest(run=self.id), api.WatchResponse, timeout):
                shows.update(self._now(answer.run))
                if self.has_ended:
                    return
            raise Unreachable(f"the coordinator stopped sending news of run {self.name} ({self.id}), which is {self.state}")
        except TimeoutError as error:
            raise WaitTimeout(
                f"run {self.name} ({self.id}) has not ended within {timeout:g} s; it is {self.state}, at step {self.step}"
            ) from error
        finally:
            shows.close()

    def metrics(self, follow: bool = False, after_step: int = 0) -> collections.abc.Iterator[Point]:
        """The recorded points, one a step; with `follow` also the coming ones, until the run has ended.

        A run that restarts takes some steps again: with `follow` they come again with a higher epoch. `after_step`: recorded
        points of later steps only. A restart of the coordinator goes unnoticed.
        """
        request = api.MetricsRequest(run=self.id, after_step=after_step, follow=follow)
        newest = (-1, -1)  # (epoch, step), which grow along the stream; a reopened one begins anew
        for message in self._client.transport.stream("Metrics", request, run_pb2.MetricPoint):
            if (message.epoch, message.step) > newest:
                newest = (message.epoch, message.step)
                yield point_of(message)

    def logs(self, follow: bool = False, tail: int = 0, rank: int = 0) -> collections.abc.Iterator[LogLine]:
        """The lines of a rank; rank -1: of all. `tail`: the last lines only."""
        request = api.LogsRequest(run=self.id, follow=follow, tail=tail, rank=rank)
        for message in self._client.transport.stream("Logs", request, run_pb2.LogLine):
            request.after_sequence, request.tail = message.sequence, 0
            yield log_line_of(message)

    def events(self, follow: bool = False) -> collections.abc.Iterator[Event]:
        request = api.EventsRequest(run=self.id, follow=follow)
        for message in self._client.transport.stream("Events", request, run_pb2.RunEvent):
            request.after_sequence = message.sequence
            yield event_of(message)

    def frame(self) -> pandas.DataFrame:
        """The recorded points as a table, a row for each step. Needs pandas: ImportError without it."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "run.frame() needs pandas ('pip install pandas'); run.metrics() gives the same points without it"
            ) from error
        rows = [{name: getattr(point, name) for name in _COLUMNS} | point.scores for point in self.metrics()]
        return pandas.DataFrame(rows, columns=None if rows else list(_COLUMNS)).set_index("step")

    def curves(self, *fields: str, max_points: int = 0) -> list[chart.Curve]:
        """Curves over steps, by the names of Point: "loss", "val_loss", "lr" and others, or the name of a score.

        `max_points` above 0: a longer curve is reduced to about as many, with its extremes.
        """
        steps: dict[str, list[int]] = {field: [] for field in fields}
        values: dict[str, list[float]] = {field: [] for field in fields}

        def begin_anew() -> None:
            for field in fields:
                steps[field], values[field] = [], []

        request = api.CurvesRequest(run=self.id, fields=fields, max_points=max_points)
        for part in self._client.transport.stream("Curves", request, api.CurvePoints, reopened=begin_anew):
            steps[part.field] += part.steps
            values[part.field] += part.values
        return [chart.Curve(field, steps[field], values[field]) for field in fields]

    def checkpoints(self) -> list[Checkpoint]:
        """The sealed checkpoints, by step."""
        return [checkpoint_of(message) for message in self._checkpoints().checkpoints]

    # Changing.

    def pause(self) -> Run:
        """Saves the last step and frees the slots, until `resume()`. Not a failure."""
        return self._now(
            self._client.transport.ask("Pause", api.PauseRequest(request_id=_request_id(), run=self.id), run_pb2.Run)
        )

    def resume(self) -> Run:
        return self._now(
            self._client.transport.ask("Resume", api.ResumeRequest(request_id=_request_id(), run=self.id), run_pb2.Run)
        )

    def cancel(self, now: bool = False) -> Run:
        """Saves the last step and ends the run; with `now` it ends at once and saves nothing."""
        request = api.CancelRequest(request_id=_request_id(), run=self.id, now=now)
        return self._now(self._client.transport.ask("Cancel", request, run_pb2.Run))

    def extend(
        self,
        steps: int | str | None = None,
        *,
        tokens: int | None = None,
        overrides: collections.abc.Mapping[str, Value] | None = None,
    ) -> Run:
        """Trains the run further, also when it has ended: to `steps` in all, or "+200" more; or to `tokens` in all."""
        if (steps is None) == (tokens is None):
            raise InvalidRequest("give either steps, such as 500 or '+200', or tokens")
        request = api.ContinueRequest(request_id=_request_id(), run=self.id, overrides=override_texts(overrides))
        if tokens is not None:
            request.tokens = tokens
        elif str(steps).startswith("+"):
            request.more_steps = total_steps(str(steps), 0)
        else:
            request.steps = total_steps(typing.cast(int, steps), 0)
        answer = self._client.transport.ask("Continue", request, api.ContinueResponse)
        warn(answer.warnings, 1)
        return self._now(answer.run)

    def fork(
        self,
        step: int | str = "latest",
        *,
        overrides: collections.abc.Mapping[str, Value] | None = None,
        steps: int | str | None = None,
        tokens: int | None = None,
        name: str | None = None,
        reset_optimizer: bool = False,
        reset_data: bool = False,
    ) -> Run:
        """Begins a new run from a checkpoint of this one: a step, "latest" or "best"; returns the new run.

        It keeps the optimizer and its place in the data unless they are reset; overrides of `data.…` and `seed` reset the data.
        `steps`: its last step, or "+N" for N steps from the checkpoint on; `tokens`: its tokens with the parent's.
        """
        self.refresh()
        checkpoint = self._find_checkpoint(step)
        of_older_coordinator = run_pb2.Leg(resolved=self._message.resolved, target_steps=self.target_steps)
        leg = next((leg for leg in self._message.legs if leg.number == checkpoint.leg), of_older_coordinator)
        request = ForkRequest(overrides or {}, steps, tokens, reset_optimizer, reset_data)
        return self._client._submit(
            api.SubmitRequest(
                request_id=_request_id(),
                source=leg.resolved,
                source_name=f"run file of {self.name}@{checkpoint.step}",
                overrides=fork_overrides(leg, checkpoint, request),
                name=name or self._free_fork_name(),
                namespace=self.namespace,
            )
        )

    def label(self, **labels: str | None) -> Run:
        """Sets labels; None removes one. For keys that are no names in Python: run.label(**{"my-key": "value"})."""
        request = api.AnnotateRequest(
            request_id=_request_id(),
            run=self.id,
            labels={key: value for key, value in labels.items() if value is not None},
            removed_labels=[key for key, value in labels.items() if value is None],
        )
        return self._now(self._client.transport.ask("Annotate", request, run_pb2.Run))

    def write_note(self, text: str) -> Run:
        """Replaces the run's note; an empty text removes it."""
        request = api.AnnotateRequest(request_id=_request_id(), run=self.id, note=text)
        return self._now(self._client.transport.ask("Annotate", request, run_pb2.Run))

    def sample(
        self,
        prompt: str = "",
        *,
        step: int | str = "latest",
        max_tokens: int = 200,
        temperature: float = 0.8,
        top_k: int = 50,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: collections.abc.Sequence[str] = (),
    ) -> str:
        """A text that continues the prompt, written by the gateway with a checkpoint: a step, "latest" or "best".

        `temperature` 0 takes the likeliest token; the same `seed` gives the same text.
        """
        checkpoint = self._find_checkpoint(step)
        request: dict[str, object] = {
            "model": f"{self.id}@{checkpoint.step}",
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "stop": list(stop),
        }
        # Without a prompt the model begins a document.
        request |= ({"prompt": prompt} if prompt else {}) | ({} if seed is None else {"seed": seed})
        return self._client.gateway().complete(request)

    # Showing.

    def __repr__(self) -> str:
        return f"<gp.Run {self.name} ({self.id}): {self.state}, step {self.step}/{self.target_steps or '?'}>"

    def _repr_html_(self) -> str:
        try:
            drawing = chart.draw(self.refresh().curves("loss", "val_loss", max_points=_CHART_POINTS))
        except Error as error:
            drawing = f"<p>{html.escape(str(error))}</p>"
        facts = [
            f"step {self.step}/{self.target_steps or '?'}",
            f"loss {self.loss:.4f}" if self.loss is not None else "",
            f"val {self.val_loss:.4f}" if self.val_loss is not None else "",
            self.reason,
            shown(self.note),
        ]
        return (
            f"<div><b>{html.escape(self.name)}</b> <code>{html.escape(self.id)}</code> {html.escape(self.state)} · "
            f"{html.escape(' · '.join(fact for fact in facts if fact))}<br>{drawing}</div>"
        )

    def _now(self, message: run_pb2.Run) -> Run:
        self._message = message
        return self

    def _checkpoints(self) -> api.CheckpointsResponse:
        return self._client.transport.ask("Checkpoints", api.CheckpointsRequest(run=self.id), api.CheckpointsResponse)

    def _find_checkpoint(self, step: int | str) -> run_pb2.Checkpoint:
        """Among the sealed ones, then among those that a later leg left behind."""
        if isinstance(step, str) and step not in ("latest", "best"):
            raise InvalidRequest(f"step={step!r}: expected a step, 'latest' or 'best'")
        answer = self._checkpoints()
        for message in [*answer.checkpoints, *reversed(answer.superseded)]:
            if message.best if step == "best" else message.latest if step == "latest" else message.step == step:
                return message
        known = ", ".join(str(message.step) for message in answer.checkpoints) or "none"
        raise NotFound(
            f"run {self.name} ({self.id}) has no {step if isinstance(step, str) else f'checkpoint of step {step}'}"
            f"{' checkpoint' if isinstance(step, str) else ''}; it has steps: {known}"
        )

    def _free_fork_name(self) -> str:
        """A name that no run has: "base-fork", then "base-fork-2"."""
        wanted = self.name[: _NAME_CHARACTERS_MAX - len("-fork-999")] + "-fork"
        taken = {run.name for run in self._client.runs(search=wanted, namespace=self.namespace)}
        return next(
            name
            for number in range(1, len(taken) + 2)
            if (name := wanted if number == 1 else f"{wanted}-{number}") not in taken
        )


def warn(texts: collections.abc.Iterable[str], depth: int) -> None:
    """Issues what the coordinator warns of as warnings of Python, `depth` calls above this function's caller."""
    for text in texts:
        warnings.warn(shown(text).removeprefix("warning: ").rstrip("\n"), stacklevel=depth + 2)


def _request_id() -> str:
    return secrets.token_hex(10)
