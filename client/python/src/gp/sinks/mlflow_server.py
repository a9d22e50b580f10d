"""A run in MLflow. The server is asked what it has of the run, so nothing is missing and nothing is written twice."""

from __future__ import annotations

import collections.abc
import math
import os
import re
import sys
import typing

from gp.records import Point
from gp.sinks.export import Facts, values_of
from gp.sinks.packages import load

# The server's limits on one request (MLflow, "Log Batch").
_METRICS_MAX, _PARAMS_MAX, _TAGS_MAX = 1000, 100, 100
_PARAM_CHARACTERS_MAX, _TAG_CHARACTERS_MAX = 6000, 5000

_NOT_IN_KEYS = re.compile(r"[^\w. :/-]", re.ASCII)  # characters that the server refuses in names

_METRICS_OF_EACH_STEP = ("tokens", "loss", "lr", "grad_norm", "tokens_per_second", "step_seconds")

_RUN_TAG = "gp.run"  # the run's id: by it the run is found again
_STATUS = {"succeeded": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}


class MlflowServer:
    def __init__(self, uri: str, experiment: str) -> None:
        """`uri`: http://HOST:PORT, or another one that MLflow takes."""
        # MLflow would repeat a request for minutes; --follow repeats it itself.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        self._mlflow = load("mlflow")
        self._client = self._mlflow.MlflowClient(tracking_uri=uri)
        self._experiment = experiment
        self._uri = uri
        self._run_id = ""  # in MLflow
        self._known: dict[str, set[int]] = {}  # by metric: the steps that the server has
        self._newest = 0  # the newest of these steps when the server was asked
        self._tags: dict[str, str] = {}  # that the server has
        self._params: set[str] = set()
        self._status = ""
        self.place = uri

    def is_complete(self, facts: Facts) -> bool:
        return False  # `begin` asks the server

    def begin(self, facts: Facts) -> dict[int, float]:
        experiment = self._experiment_id()
        found = self._client.search_runs([experiment], filter_string=f"tags.`{_RUN_TAG}` = '{facts.id}'", max_results=1)
        if not found:
            self._create(experiment, facts)
            return {}
        self._run_id = found[0].info.run_id
        self._set_place(experiment)
        self._status = found[0].info.status
        self._tags, self._params = dict(found[0].data.tags), set(found[0].data.params)
        losses: dict[int, float] = {}
        for key in found[0].data.metrics:
            history = self._client.get_metric_history(self._run_id, key)
            self._known[key] = {metric.step for metric in history}
            if key == "loss":
                losses = {metric.step: _unbounded(metric.value) for metric in history}
        self._newest = max(losses, default=0)
        return losses

    def may_lack(self, step: int) -> bool:
        """A writer that was killed may have written only some metrics of the steps of its last request."""
        return step == self._newest or any(step not in self._known.get(key, ()) for key in _METRICS_OF_EACH_STEP)

    def start_over(self, facts: Facts) -> None:
        """A metric of MLflow cannot be changed, so the run is deleted there and made again."""
        self._client.delete_run(self._run_id)
        self._create(self._experiment_id(), facts)

    def write(self, facts: Facts, points: collections.abc.Iterable[Point]) -> int:
        self._describe(facts)
        entity = self._mlflow.entities.Metric
        batch: list[typing.Any] = []
        written = 0
        for point in points:
            milliseconds = int(point.at.timestamp() * 1000)
            values = values_of(point)
            lacking = [key for key in values if point.step not in self._known.setdefault(key, set())]
            for key in lacking:
                self._known[key].add(point.step)
                batch.append(entity(key, float(values[key]), milliseconds, point.step))
            written += bool(lacking)
            if len(batch) > _METRICS_MAX - _METRICS_MAX // 10:
                self._log(metrics=batch)
                batch = []
        if batch:
            self._log(metrics=batch)
        self._set_status(facts)
        return written

    def close(self, facts: Facts) -> None:
        pass  # every update leaves the run complete

    def _experiment_id(self) -> str:
        found = self._client.get_experiment_by_name(self._experiment)
        return str(found.experiment_id if found is not None else self._client.create_experiment(self._experiment))

    def _create(self, experiment: str, facts: Facts) -> None:
        begun = int(facts.submitted_at.timestamp() * 1000)
        tags = _tags_of(facts)
        run = self._client.create_run(experiment, start_time=begun, tags=tags, run_name=facts.name)
        self._run_id, self._status, self._tags, self._params, self._known = run.info.run_id, "RUNNING", tags, set(), {}
        self._newest = 0
        self._set_place(experiment)

    def _set_place(self, experiment: str) -> None:
        self.place = f"{self._uri.rstrip('/')}/#/experiments/{experiment}/runs/{self._run_id}"

    def _describe(self, facts: Facts) -> None:
        params = {key: text[:_PARAM_CHARACTERS_MAX] for key, text in facts.hyperparameters.items() if key not in self._params}
        tags = {key: text for key, text in _tags_of(facts).items() if self._tags.get(key) != text}
        for some in _pieces([self._mlflow.entities.Param(key, text) for key, text in params.items()], _PARAMS_MAX):
            self._log(params=some)
        for some in _pieces([self._mlflow.entities.RunTag(key, text) for key, text in tags.items()], _TAGS_MAX):
            self._log(tags=some)
        self._params |= params.keys()
        self._tags |= tags

    def _set_status(self, facts: Facts) -> None:
        status = _STATUS.get(facts.state, "RUNNING")
        if status == self._status:
            return
        if facts.ended_at is not None:
            self._client.set_terminated(self._run_id, status, int(facts.ended_at.timestamp() * 1000))
        else:
            self._client.update_run(self._run_id, status=status)
        self._status = status

    def _log(self, **what: typing.Any) -> None:
        self._client.log_batch(self._run_id, **what)


def _tags_of(facts: Facts) -> dict[str, str]:
    changed = {
        f"gp.leg{leg}.{key}": text for leg, keys in facts.changed_hyperparameters().items() for key, text in keys.items()
    }
    labels = {_NOT_IN_KEYS.sub("_", key): text for key, text in facts.labels.items()}
    tags = {
        **labels,
        _RUN_TAG: facts.id,
        "gp.namespace": facts.namespace,
        "gp.parent": facts.parent,
        "mlflow.user": facts.user,
        "mlflow.note.content": facts.note,
        "mlflow.runName": facts.name,
        **changed,
    }
    return {key: text[:_TAG_CHARACTERS_MAX] for key, text in tags.items() if text}


def _unbounded(value: float) -> float:
    """The server keeps an infinite value as the largest number."""
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value


def _pieces(whole: list[typing.Any], size: int) -> collections.abc.Iterator[list[typing.Any]]:
    for begin in range(0, len(whole), size):
        yield whole[begin : begin + size]
